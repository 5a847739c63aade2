#include "tuner/simulate/simulate.h"

#include <gtest/gtest.h>

#include <string>

#include "collectives/levels.h"
#include "tuner/bandwidth.h"
#include "tuner/simulate/predict.h"
#include "tuner/simulate/trace.h"

namespace hockney {
namespace {

SimMachine TwoLevels(int ranks, int nodes, int nodes_per_rack) {
  SimMachine machine;
  machine.placement = BlockPlacement(ranks, nodes, nodes_per_rack);
  machine.node = {.name = "node", .alpha_seconds = 2e-6, .by_lane = true};
  machine.rank_port_bytes_per_second = 100e9;
  machine.rack = {.name = "rack",
                  .alpha_seconds = 5e-6,
                  .overhead_seconds = 1e-6,
                  .ll_alpha_seconds = 3e-6,
                  .bytes_per_second = 20e9};
  machine.fabric = machine.rack;
  machine.fabric.alpha_seconds = 8e-6;
  machine.node_transmit = machine.node_receive = {.bytes_per_second = 40e9};
  machine.rack_up = machine.rack_down = {.bytes_per_second = 50e9};
  machine.copy_seconds_per_byte = 1e-12;
  machine.reduce_seconds_per_byte = 2e-12;
  return machine;
}

struct Case {
  const Algorithm* row = nullptr;
  Parameters parameters = {};
  std::string label = {};
};

std::vector<Case> CasesOf(const RankPlacement& placement) {
  std::vector<Case> cases;
  const bool several = placement.node_of_rank.back() > 0;
  for (const Algorithm& row : AllAlgorithms()) {
    if (several && row.simple_uses_peer_memory) continue;
    if (row.name != kHierarchical) {
      cases.push_back({&row, {}, std::string(Name(row.collective)) + " " + std::string(row.name)});
      continue;
    }
    for (const Levels& levels : UsualLevels(row.collective, Protocol::kSimple, &placement)) {
      Parameters parameters;
      parameters.placement = &placement;
      parameters.levels = levels;
      if (!WhyNotHierarchical(row.collective, parameters).empty()) continue;
      parameters.placement = nullptr;
      cases.push_back({&row, parameters, std::string(Name(row.collective)) + " " + NameOf(levels)});
    }
  }
  return cases;
}

SimRequest RequestOf(const Case& c, int ranks, std::uint64_t size) {
  SimRequest request;
  request.row = c.row;
  request.parameters = c.parameters;
  const std::uint64_t count = CountForSize(c.row->collective, size, DataType::kFloat32, ranks);
  request.counts = EvenCounts({c.row->collective, ranks, 0}, count);
  return request;
}

struct Ground {
  int ranks;
  int nodes;
  int nodes_per_rack;
};

class SimulateTest : public testing::TestWithParam<Ground> {};

// Chunks of unlike size count as the largest where ranks stand for others.
constexpr double kRounding = 0.02;

TEST_P(SimulateTest, RanksThatStandForOthersTakeTheSameTime) {
  const Ground ground = GetParam();
  const SimMachine machine = TwoLevels(ground.ranks, ground.nodes, ground.nodes_per_rack);
  for (const Case& c : CasesOf(machine.placement)) {
    for (const std::uint64_t size :
         {std::uint64_t{128} * ground.ranks, std::uint64_t{128} * ground.ranks * 1024}) {
      const SimRequest request = RequestOf(c, ground.ranks, size);
      const SimResult some =
          Simulation(request, machine, {.collapse = true, .extrapolate = false}).Run();
      const SimResult all =
          Simulation(request, machine, {.collapse = false, .extrapolate = false}).Run();
      EXPECT_EQ(all.classes, ground.ranks);
      EXPECT_NEAR(some.seconds, all.seconds, kRounding * all.seconds) << c.label << " " << size;
      for (int level = 0; level < kSimLevels; ++level) {
        // Chunks that are empty in truth.
        const double slack = kRounding * all.bytes[level] + 128.0 * all.slices;
        EXPECT_NEAR(some.bytes[level], all.bytes[level], slack) << c.label << " " << size;
      }
    }
  }
}

TEST_P(SimulateTest, PiecesThatAreLeftOutTakeTheSameTime) {
  const Ground ground = GetParam();
  const SimMachine machine = TwoLevels(ground.ranks, ground.nodes, ground.nodes_per_rack);
  for (const Case& c : CasesOf(machine.placement)) {
    const SimRequest request = RequestOf(c, ground.ranks, std::uint64_t{128} << 20);
    const SimResult some =
        Simulation(request, machine, {.collapse = true, .extrapolate = true}).Run();
    const SimResult all =
        Simulation(request, machine, {.collapse = true, .extrapolate = false}).Run();
    EXPECT_EQ(all.simulated_pieces, all.pieces);
    EXPECT_NEAR(some.seconds, all.seconds, 0.01 * all.seconds) << c.label;
    for (int level = 0; level < kSimLevels; ++level) {
      EXPECT_NEAR(some.bytes[level], all.bytes[level], 0.01 * all.bytes[level] + 1) << c.label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grounds, SimulateTest,
                         testing::Values(Ground{8, 1, 0}, Ground{6, 1, 0}, Ground{8, 2, 0},
                                         Ground{12, 4, 2}, Ground{16, 8, 4}, Ground{7, 3, 0}));

TEST(CollapseTest, ARingOverNodesIsOneNodesRanks) {
  const SimMachine machine = TwoLevels(64, 8, 0);
  const Case ring{FindAlgorithm(Collective::kAllReduce, "ring"), {}, "ring"};
  EXPECT_EQ(Simulation(RequestOf(ring, 64, 1 << 20), machine).Run().classes, 8);
  EXPECT_EQ(Simulation(RequestOf(ring, 64, 1 << 20), TwoLevels(64, 1, 0)).Run().classes, 1);
}

TEST(SimulateTest, FewPiecesOfVeryManyRanksTellTheRest) {
  const int p = 1100;
  const Case tree{FindAlgorithm(Collective::kAllReduce, "double_binary_tree"), {}, "tree"};
  const SimRequest request = RequestOf(tree, p, std::uint64_t{8} << 20);
  const SimMachine machine = TwoLevels(p, p / 4, 0);
  const SimResult few = Simulation(request, machine).Run();
  const SimResult all =
      Simulation(request, machine, {.collapse = false, .extrapolate = false}).Run();
  EXPECT_LT(few.simulated_pieces, all.simulated_pieces);
  EXPECT_NEAR(few.seconds, all.seconds, 0.1 * all.seconds);
  EXPECT_NEAR(few.bytes[1], all.bytes[1], 0.01 * all.bytes[1]);
}

TEST(SimulateTest, BytesOfALevelAreTheAlgorithms) {
  // A ring over two nodes of four ranks: of eight connections two are between nodes.
  const int p = 8;
  const std::uint64_t size = 1 << 20;
  const Case ring{FindAlgorithm(Collective::kAllReduce, "ring"), {}, "ring"};
  const SimResult result = Simulation(RequestOf(ring, p, size), TwoLevels(p, 2, 0)).Run();
  const double each = 2.0 * (p - 1) / p * size;
  EXPECT_NEAR(result.bytes[0], 6 * each, 1);
  EXPECT_NEAR(result.bytes[1], 2 * each, 1);
  EXPECT_EQ(result.bytes[2], 0);
}

TEST(SimulateTest, ADrainedBucketIsSlower) {
  SimMachine machine;
  machine.placement = BlockPlacement(2, 2);
  machine.rack = {.alpha_seconds = 1e-5, .bytes_per_second = 1e9};
  machine.node_transmit = {.bytes_per_second = 1e8, .burst_bytes = 1 << 17};
  const Case ring{FindAlgorithm(Collective::kAllReduce, "ring"), {}, "ring"};
  const SimRequest request = RequestOf(ring, 2, 1 << 17);
  const double full = Simulation(request, machine, {.refill_seconds = kFullBuckets}).Run().seconds;
  const double empty = Simulation(request, machine, {.refill_seconds = 0}).Run().seconds;
  EXPECT_GT(empty, (1 << 17) / 1e8);
  EXPECT_LT(full, 0.5 * empty);
  // Calls that follow each other find what the one before left: nothing.
  EXPECT_NEAR(Simulation(request, machine, {.refill_seconds = 0, .repeats = true}).Run().seconds,
              empty, 0.01 * empty);
  // After a pause, what flowed in.
  const double rested =
      Simulation(request, machine, {.refill_seconds = 4e-4, .repeats = true}).Run().seconds;
  EXPECT_NEAR(rested, empty - 4e-4, 0.01 * empty);
}

TEST(SimulateTest, ALinkThatRestsDuringItsCallsIsFullAgain) {
  SimMachine machine;
  machine.placement = BlockPlacement(2, 2);
  machine.rack = {.alpha_seconds = 1e-2, .bytes_per_second = 1e9};
  machine.node_transmit = {.bytes_per_second = 1e8, .burst_bytes = 1 << 17};
  const Case ring{FindAlgorithm(Collective::kAllReduce, "ring"), {}, "ring"};
  const SimRequest request = RequestOf(ring, 2, 1 << 17);
  const double full = Simulation(request, machine, {.refill_seconds = kFullBuckets}).Run().seconds;
  const double streamed =
      Simulation(request, machine, {.refill_seconds = 0, .repeats = true}).Run().seconds;
  EXPECT_NEAR(streamed, full, 1e-3 * full);
}

TEST(TraceTest, TheCriticalPathAddsUpToTheTime) {
  const SimMachine machine = TwoLevels(8, 4, 2);
  for (const char* name : {"ring", "double_binary_tree", "recursive_doubling"}) {
    const Case c{FindAlgorithm(Collective::kAllReduce, name), {}, name};
    std::vector<SliceRecord> records;
    const Simulation simulation(RequestOf(c, 8, 1 << 20), machine);
    const SimResult result = simulation.Trace(&records);
    const auto path = CriticalPath(records);
    ASSERT_FALSE(path.empty());
    EXPECT_DOUBLE_EQ(path.back().slice.end_seconds, result.seconds) << name;
    const PathShares shares = SharesOf(path);
    EXPECT_NEAR(
        shares.work_seconds + shares.message_seconds + shares.credit_seconds + shares.token_seconds,
        result.seconds, 1e-9 * result.seconds)
        << name;
    const std::string trace = ChromeTrace(records, simulation.LaneNames());
    EXPECT_NE(trace.find("\"traceEvents\""), std::string::npos);
    EXPECT_NE(trace.find("\"rank 0\""), std::string::npos);
  }
}

TEST(SimulateTest, WhatCannotRunIsRefused) {
  SimRequest request;
  request.row = FindAlgorithm(Collective::kAllReduce, "ring");
  request.counts = EvenCounts({Collective::kAllReduce, 4, 0}, 1024);
  SimMachine machine;
  machine.placement = OneNode(3);
  EXPECT_THROW(Simulation(request, machine).Run(), std::invalid_argument);
  machine.placement = OneNode(4);
  request.parameters.slices = 9;
  EXPECT_THROW(Simulation(request, machine), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
