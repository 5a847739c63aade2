#include "tuner/training/simulate_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace hockney {
namespace {

// Seconds of a collective: its elements. Remembers how long links were idle before.
class ElementClock : public CollectiveClock {
 public:
  double Seconds(const StepNode& node, const StepGroup&, double idle_seconds) override {
    idle.push_back(idle_seconds);
    return static_cast<double>(node.counts.counts[0]);
  }
  std::vector<double> idle = {};
};

StepNode Work(double seconds, std::vector<int> after = {}) {
  StepNode node;
  node.name = "work";
  node.after = std::move(after);
  node.seconds = seconds;
  return node;
}

StepNode Reduce(std::uint64_t seconds, std::vector<int> after,
                StepStream stream = StepStream::kGradients) {
  StepNode node;
  node.name = "reduce";
  node.kind = StepKind::kCollective;
  node.stream = stream;
  node.after = std::move(after);
  node.group = 0;
  node.counts = EvenCounts({Collective::kAllReduce, 2, 0}, seconds);
  return node;
}

StepGraph GraphOf(std::int64_t rank, std::vector<StepNode> nodes) {
  return {.rank = rank, .groups = {{"data", {0, 1}}}, .nodes = std::move(nodes)};
}

// Backward passes of 3, 2 and 1 s; buckets of 4 and 2 s behind the first and the last.
std::vector<StepNode> Backward() {
  return {Work(3), Reduce(4, {0}), Work(2), Work(1), Reduce(2, {3}), Work(1, {1, 4})};
}

TEST(SimulateStepTest, ReductionsRunBesideComputingOneAfterTheOther) {
  const StepGraph graphs[] = {GraphOf(0, Backward()), GraphOf(1, Backward())};
  ElementClock clock;
  const StepTimeline timeline = SimulateStep(graphs, clock);
  EXPECT_DOUBLE_EQ(timeline.nodes[0][1].start, 3);
  EXPECT_DOUBLE_EQ(timeline.nodes[0][1].end, 7);
  EXPECT_DOUBLE_EQ(timeline.nodes[1][4].start, 7);  // the last gradient was there at 6
  EXPECT_DOUBLE_EQ(timeline.seconds, 10);
  ElementClock again;
  const StepShares shares = SharesOfStep(graphs, again);
  EXPECT_DOUBLE_EQ(shares.compute, 7);
  EXPECT_DOUBLE_EQ(shares.communication, 6);
  EXPECT_DOUBLE_EQ(shares.exposed, 3);
  EXPECT_DOUBLE_EQ(shares.hidden, 3);
}

TEST(SimulateStepTest, ACollectiveBeginsWithItsLastMember) {
  std::vector<StepNode> late = Backward();
  late[0].seconds = 5;
  const StepGraph graphs[] = {GraphOf(0, Backward()), GraphOf(1, late)};
  ElementClock clock;
  const StepTimeline timeline = SimulateStep(graphs, clock);
  EXPECT_DOUBLE_EQ(timeline.nodes[0][1].start, 5);
  EXPECT_DOUBLE_EQ(timeline.seconds, 12);
  const StepGraph turned[] = {GraphOf(0, late), GraphOf(1, Backward())};
  EXPECT_DOUBLE_EQ(SimulateStep(turned, clock).nodes[1][1].start, 5);
}

TEST(SimulateStepTest, OneThreadKeepsOtherStreamsWaiting) {
  const std::vector<StepNode> nodes = {Reduce(4, {}), Reduce(1, {}, StepStream::kLayer),
                                       Work(1, {1})};
  const StepGraph graphs[] = {GraphOf(0, nodes), GraphOf(1, nodes)};
  ElementClock clock;
  EXPECT_DOUBLE_EQ(SimulateStep(graphs, clock, {.one_thread = true}).seconds, 6);
  EXPECT_DOUBLE_EQ(SimulateStep(graphs, clock, {.one_thread = false}).seconds, 4);
}

TEST(SimulateStepTest, TheClockHearsHowLongLinksWereIdle) {
  const std::vector<StepNode> nodes = {Work(1), Reduce(2, {0}), Work(7), Reduce(1, {2})};
  const StepGraph graphs[] = {GraphOf(0, nodes), GraphOf(1, nodes)};
  ElementClock clock;
  SimulateStep(graphs, clock);
  ASSERT_EQ(clock.idle.size(), 2U);
  EXPECT_TRUE(std::isinf(clock.idle[0]));
  EXPECT_DOUBLE_EQ(clock.idle[1], 5);  // from 3 to 8
}

TEST(SimulateStepTest, RanksThatWaitForEachOtherAreNamed) {
  // Rank 0 calls twice, rank 1 once.
  const StepGraph graphs[] = {GraphOf(0, {Reduce(1, {}), Reduce(1, {})}),
                              GraphOf(1, {Reduce(1, {})})};
  ElementClock clock;
  try {
    SimulateStep(graphs, clock);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 0: reduce waits for"));
  }
  EXPECT_THAT(WhyNotMatched(graphs), testing::HasSubstr("group data: call 1"));
}

}  // namespace
}  // namespace hockney
