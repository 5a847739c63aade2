#include "bench/training/step_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

// Notes what was done, in order; work and calls come from two threads.
struct Log {
  void Add(const std::string& what) {
    const std::lock_guard lock(mutex);
    entries.push_back(what);
  }
  std::size_t PlaceOf(const std::string& what) const {
    return static_cast<std::size_t>(std::find(entries.begin(), entries.end(), what) -
                                    entries.begin());
  }
  std::mutex mutex;
  std::vector<std::string> entries;
};

class LoggedCall : public Prepared {
 public:
  explicit LoggedCall(std::function<void()> run) : run_(std::move(run)) {}
  void Run() override { run_(); }

 private:
  std::function<void()> run_;
};

class LoggedComputer : public Computer {
 public:
  explicit LoggedComputer(Log& log) : log_(log) {}
  void Start(StepClock::time_point) override {}
  StepClock::time_point Run(const StepNode& node, StepClock::time_point) override {
    if (node.name == "broken") throw std::runtime_error("computing broke");
    log_.Add(node.name);
    return StepClock::now();
  }
  std::string Describe() const override { return "logged"; }

 private:
  Log& log_;
};

StepNode Node(StepKind kind, std::string name, std::vector<int> after) {
  StepNode node;
  node.kind = kind;
  node.name = std::move(name);
  node.after = std::move(after);
  return node;
}

constexpr StepKind kWork = StepKind::kCompute;
constexpr StepKind kCall = StepKind::kCollective;

TEST(StepRunnerTest, EachThreadKeepsItsOrderAndWaitsForTheOther) {
  const StepGraph graph{.nodes = {Node(kWork, "a", {}), Node(kCall, "x", {0}), Node(kWork, "b", {}),
                                  Node(kCall, "y", {2}), Node(kWork, "c", {1, 3})}};
  Log log;
  LoggedComputer computer(log);
  LoggedCall x([&] { log.Add("x"); });
  LoggedCall y([&] { log.Add("y"); });
  StepRunner runner(graph, {{}, {&x}, {}, {&y}, {}}, computer);
  for (int step = 0; step < 50; ++step) {
    log.entries.clear();
    EXPECT_GT(runner.Run(StepPart::kWhole), 0);
    ASSERT_EQ(log.entries.size(), 5U);
    EXPECT_LT(log.PlaceOf("a"), log.PlaceOf("x"));
    EXPECT_LT(log.PlaceOf("x"), log.PlaceOf("y"));
    EXPECT_LT(log.PlaceOf("b"), log.PlaceOf("y"));
    EXPECT_EQ(log.entries.back(), "c");
  }
  EXPECT_LE(runner.times()[1].end, runner.times()[4].end);
}

TEST(StepRunnerTest, HalvesLeaveTheOtherOutButForSignals) {
  const StepGraph graph{.nodes = {Node(kWork, "a", {}), Node(kCall, "x", {0}),
                                  Node(kCall, "y", {0}), Node(kWork, "b", {1})}};
  Log log;
  LoggedComputer computer(log);
  LoggedCall x([&] { log.Add("x"); });
  LoggedCall y([&] { log.Add("y"); });
  LoggedCall signal([&] { log.Add("signal"); });
  StepRunner runner(graph, {{}, {&x}, {&y, &signal}, {}}, computer);
  runner.Run(StepPart::kCommunication);
  EXPECT_THAT(log.entries, testing::ElementsAre("x", "y"));
  log.entries.clear();
  runner.Run(StepPart::kComputing);
  EXPECT_THAT(log.entries, testing::UnorderedElementsAre("a", "b", "signal"));
}

TEST(StepRunnerTest, WhatEitherThreadThrowsComesOutAndStepsGoOn) {
  const StepGraph graph{
      .nodes = {Node(kWork, "a", {}), Node(kCall, "x", {0}), Node(kWork, "b", {1})}};
  Log log;
  LoggedComputer computer(log);
  bool breaks = true;
  LoggedCall x([&] {
    if (breaks) throw std::runtime_error("link broke");
  });
  StepRunner runner(graph, {{}, {&x}, {}}, computer);
  EXPECT_THROW(runner.Run(StepPart::kWhole), std::runtime_error);
  EXPECT_THAT(log.entries, testing::ElementsAre("a"));  // b waited in vain

  StepGraph other = graph;
  other.nodes[0].name = "broken";
  breaks = false;
  StepRunner broken(other, {{}, {&x}, {}}, computer);
  try {
    broken.Run(StepPart::kWhole);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "computing broke");
  }
}

TEST(EmulatedComputerTest, WorkFollowsWithoutABreakFromWhenItsInputWasThere) {
  EmulatedComputer computer;
  const StepClock::time_point start = StepClock::now();
  computer.Start(start);
  StepNode node;
  node.seconds = 1e-3;
  using std::chrono::milliseconds;
  EXPECT_EQ(computer.Run(node, start), start + milliseconds(1));
  EXPECT_EQ(computer.Run(node, start), start + milliseconds(2));  // however late this thread was
  EXPECT_EQ(computer.Run(node, start + milliseconds(5)), start + milliseconds(6));
  EXPECT_GE(StepClock::now(), start + milliseconds(6));
}

}  // namespace
}  // namespace hockney
