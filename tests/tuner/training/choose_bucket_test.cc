#include "tuner/training/choose_bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.h"
#include "tuner/simulate/predict.h"
#include "tuner/training/model_clock.h"
#include "tuner/training/plan_of_row.h"

namespace hockney {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// One rank a node, links of 1 GB/s, messages of 20 us.
SimMachine Machine(int ranks, double alpha = 20e-6) {
  SimMachine machine;
  machine.placement = BlockPlacement(ranks, ranks);
  for (LevelCost* cost : {&machine.rack, &machine.fabric}) {
    cost->alpha_seconds = cost->ll_alpha_seconds = alpha;
    cost->bytes_per_second = 1e9;
  }
  machine.node_transmit.bytes_per_second = machine.node_receive.bytes_per_second = 1e9;
  return machine;
}

StepRow Row(const testing::ScratchFolder& folder) {
  const std::string path = folder.Write(
      "layers.csv", "unit,forward_ms,backward_ms\nembedding,1,1\nblock,2,4\nhead,1,1\n");
  return {.model = "gpt2",
          .scale = "layers=8,hidden=256,vocab=1024",
          .ranks = 4,
          .nodes = 4,
          .layer_times = path};
}

const std::optional<std::int64_t> kCaps[] = {std::nullopt, 0, kMiB, 4 * kMiB, 64 * kMiB};

TEST(ChooseBucketTest, TheFastestIsChosenAndWhatIsWithinNoiseIsNamed) {
  const testing::ScratchFolder folder;
  const BucketChoice choice = ChooseBucket(Row(folder), kCaps, {}, Machine(4));
  double fastest = 1e9;
  for (const PredictedBucket& each : choice.buckets) fastest = std::min(fastest, each.shares.step);
  const PredictedBucket& best = choice.buckets[choice.best];
  EXPECT_EQ(best.shares.step, fastest);
  for (std::size_t i = 0; i < choice.buckets.size(); ++i) {
    const bool ties = std::find(choice.ties.begin(), choice.ties.end(), i) != choice.ties.end();
    EXPECT_EQ(ties, choice.buckets[i].shares.step <= (1 + kBucketNoise) * fastest);
  }
  // One bucket for all hides nothing; a bucket a tensor pays the latency 100 times.
  EXPECT_NE(choice.best, 4U);
  EXPECT_NE(choice.best, 1U);
  EXPECT_EQ(choice.buckets[4].buckets, 1);
}

TEST(ChooseBucketTest, CausesAddUpAndNameTheReason) {
  const testing::ScratchFolder folder;
  const BucketChoice choice = ChooseBucket(Row(folder), kCaps, {}, Machine(4));
  for (const PredictedBucket& each : choice.buckets) {
    const ExposedCauses& causes = each.causes;
    EXPECT_NEAR(causes.latency + causes.late_start + causes.link, each.shares.exposed, 1e-9);
  }
  const ExposedCauses& tensors = choice.buckets[1].causes;
  const ExposedCauses& all = choice.buckets[4].causes;
  EXPECT_GT(tensors.latency, 2 * all.latency);
  EXPECT_GT(all.late_start, tensors.late_start + 1e-3);
  // The default's buckets of 1 and 25 MiB start later than one a tensor would.
  EXPECT_GT(choice.buckets[0].causes.late_start, 1e-3);
  StepRow row = Row(folder);
  row.bucket_cap_bytes = kMiB;
  SimMachine slow = Machine(4);
  for (Resource* each : {&slow.node_transmit, &slow.node_receive}) each->bytes_per_second = 1e8;
  const ExposedCauses causes = ChooseBucket(row, {{kMiB}}, {}, slow).buckets[0].causes;
  EXPECT_GT(causes.link, causes.latency + causes.late_start);
}

TEST(ChooseBucketTest, MeasuredStepsOfTheSamePlanStandBeside) {
  const testing::ScratchFolder folder;
  StepRow measured = Row(folder);
  measured.bucket_cap_bytes = kMiB;
  measured.step_ms_median = 70;
  StepRow other = measured;
  other.sharding = "zero1";
  other.step_ms_median = 1;
  const StepRow rows[] = {measured, other};
  const BucketChoice choice = ChooseBucket(Row(folder), kCaps, rows, Machine(4));
  EXPECT_EQ(choice.buckets[2].measured_seconds, 0.070);
  EXPECT_EQ(choice.buckets[0].measured_seconds, std::nullopt);
}

TEST(SimulatedClockTest, GroupsThatMeetAtANodeShareItsLink) {
  // Two nodes of two ranks: data groups {0, 2} and {1, 3} cross at the same time.
  SimMachine machine = Machine(4, 0);
  machine.placement = BlockPlacement(4, 2);
  machine.node = machine.rack;
  StepNode node;
  node.kind = StepKind::kCollective;
  node.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 1 << 20);
  node.type = DataType::kFloat32;
  SimulatedClock shared(machine);
  machine.placement = BlockPlacement(2, 2);
  SimulatedClock alone(machine);
  const double both = shared.Seconds(node, {"data", {0, 2}}, 0);
  EXPECT_NEAR(both / alone.Seconds(node, {"data", {0, 1}}, 0), 2, 0.1);
}

TEST(SimulatedClockTest, IdleLinksFillTheirBuckets) {
  SimMachine machine = Machine(2, 0);
  for (Resource* each : {&machine.node_transmit, &machine.node_receive}) {
    each->bytes_per_second = 1e8;
    each->burst_bytes = 1e5;  // 1 ms
  }
  StepNode node;
  node.kind = StepKind::kCollective;
  node.counts = EvenCounts({Collective::kAllReduce, 2, 0}, 1 << 18);
  node.type = DataType::kFloat32;
  SimulatedClock clock(machine);
  const StepGroup group{"data", {0, 1}};
  const double empty = clock.Seconds(node, group, 0);
  const double half = clock.Seconds(node, group, 0.5e-3);
  const double full = clock.Seconds(node, group, 1);
  EXPECT_GT(empty, full + 0.5e-3);
  EXPECT_NEAR(half, (empty + full) / 2, 1e-9);
}

}  // namespace
}  // namespace hockney
