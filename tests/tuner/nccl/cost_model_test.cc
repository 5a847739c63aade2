#include "tuner/nccl/cost_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

namespace hockney::nccl {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

Graph& GraphOf(System& system, Algorithm algorithm) {
  return system.graphs[static_cast<std::size_t>(algorithm)];
}

// One node of 8 H100 with the graph of NVIDIA/nccl#1197: 12 channels of 30 GB/s.
System EightH100() {
  System system{.ranks = 8, .nodes = 1};
  GraphOf(system, Algorithm::kRing) = {.channels = 12, .intra_GBps = 30, .inter_GBps = 30};
  GraphOf(system, Algorithm::kTree) = {.channels = 12, .intra_GBps = 30, .inter_GBps = 30};
  return system;
}

// A log of two ranks over sockets. Their graphs are not in the log: the ring's rate follows from
// AllGather Simple, the tree's from AllReduce Tree Simple.
System TwoBySockets() {
  System system{.ranks = 2, .nodes = 2, .has_ll128 = false};
  GraphOf(system, Algorithm::kRing) = {.channels = 2, .intra_GBps = 1.2, .inter_GBps = 1.2};
  GraphOf(system, Algorithm::kPat) = GraphOf(system, Algorithm::kRing);
  GraphOf(system, Algorithm::kTree) = {
      .channels = 2, .intra_GBps = 2.4, .inter_GBps = 2.4, .is_tree_pattern = true};
  return system;
}

struct Vector {
  Collective collective;
  Algorithm algorithm;
  Protocol protocol;
  double latency_us;
  double algbw_GBps;
};

// The tables hold one decimal.
void ExpectVectors(const System& system, const std::vector<Vector>& vectors) {
  for (const Vector& each : vectors) {
    const auto cost = CostOf(system, each.collective, each.algorithm, each.protocol);
    const auto name = std::string(hockney::Name(each.collective)) + " " +
                      std::string(Name(each.algorithm)) + " " + std::string(Name(each.protocol));
    ASSERT_TRUE(cost) << name;
    EXPECT_NEAR(cost->latency_us, each.latency_us, 0.051) << name;
    EXPECT_NEAR(cost->algbw_GBps, each.algbw_GBps, 0.051) << name;
  }
}

constexpr auto kAllReduce = Collective::kAllReduce;
constexpr auto kAllGather = Collective::kAllGather;
constexpr auto kBroadcast = Collective::kBroadcast;

TEST(NcclCostModelTest, EightH100MatchTheTable) {
  ExpectVectors(EightH100(), {
                                 {kAllReduce, Algorithm::kRing, Protocol::kLl, 15.0, 80.6},
                                 {kAllReduce, Algorithm::kRing, Protocol::kLl128, 40.6, 189.3},
                                 {kAllReduce, Algorithm::kRing, Protocol::kSimple, 56.0, 205.7},
                                 {kAllReduce, Algorithm::kTree, Protocol::kLl, 15.2, 43.6},
                                 {kAllReduce, Algorithm::kTree, Protocol::kLl128, 31.5, 128.8},
                                 {kAllReduce, Algorithm::kTree, Protocol::kSimple, 64.4, 165.6},
                                 {kAllGather, Algorithm::kRing, Protocol::kLl, 10.8, 161.1},
                                 {kAllGather, Algorithm::kRing, Protocol::kLl128, 27.3, 378.5},
                                 {kAllGather, Algorithm::kRing, Protocol::kSimple, 32.2, 411.4},
                                 {kBroadcast, Algorithm::kRing, Protocol::kLl, 7.2, 141.0},
                                 {kBroadcast, Algorithm::kRing, Protocol::kLl128, 15.9, 331.2},
                                 {kBroadcast, Algorithm::kRing, Protocol::kSimple, 11.8, 360.0},
                             });
}

TEST(NcclCostModelTest, TwoRanksBySocketsMatchALogOfNccl) {
  ExpectVectors(TwoBySockets(), {
                                    {kAllGather, Algorithm::kRing, Protocol::kLl, 11.6, 2.4},
                                    {kAllGather, Algorithm::kRing, Protocol::kSimple, 22.4, 4.8},
                                    {kAllGather, Algorithm::kPat, Protocol::kSimple, 17.6, 3.6},
                                    {kAllReduce, Algorithm::kTree, Protocol::kLl, 16.8, 0.5},
                                    {kAllReduce, Algorithm::kTree, Protocol::kSimple, 36.4, 1.9},
                                    {kAllReduce, Algorithm::kRing, Protocol::kLl, 16.6, 1.2},
                                    {kAllReduce, Algorithm::kRing, Protocol::kSimple, 36.4, 2.4},
                                    {kBroadcast, Algorithm::kRing, Protocol::kLl, 9.3, 1.2},
                                });
}

TEST(NcclCostModelTest, WinnersBySizeMatchTheTable) {
  const System system = EightH100();
  const auto winner = [&](Collective collective, std::uint64_t bytes) {
    const auto pick = PickFastest(system, {.collective = collective, .bytes = bytes});
    EXPECT_EQ(pick.value().algorithm, Algorithm::kRing) << bytes;
    return pick.value().protocol;
  };
  for (std::uint64_t bytes = 8; bytes <= 1024 * kMiB; bytes *= 2) {
    EXPECT_EQ(winner(kAllReduce, bytes), bytes <= 2 * kMiB    ? Protocol::kLl
                                         : bytes <= 32 * kMiB ? Protocol::kLl128
                                                              : Protocol::kSimple)
        << bytes;
    EXPECT_EQ(winner(kAllGather, bytes), bytes <= 4 * kMiB    ? Protocol::kLl
                                         : bytes <= 16 * kMiB ? Protocol::kLl128
                                                              : Protocol::kSimple)
        << bytes;
  }
}

TEST(NcclCostModelTest, WhatNcclDoesNotOfferHasNoCost) {
  System system = EightH100();
  for (Graph& graph : system.graphs) graph = {.channels = 8, .intra_GBps = 40, .inter_GBps = 40};
  const auto has = [&](Collective collective, Algorithm algorithm,
                       Protocol protocol = Protocol::kSimple) {
    return CostOf(system, collective, algorithm, protocol).has_value();
  };
  EXPECT_TRUE(has(kAllReduce, Algorithm::kTree));
  EXPECT_FALSE(has(kBroadcast, Algorithm::kTree));
  EXPECT_FALSE(has(kAllGather, Algorithm::kTree));
  EXPECT_FALSE(has(kAllReduce, Algorithm::kNvls));
  EXPECT_FALSE(has(kAllReduce, Algorithm::kNvlsTree));
  EXPECT_FALSE(has(kAllGather, Algorithm::kPat));
  EXPECT_FALSE(has(kAllReduce, Algorithm::kCollNetDirect));
  EXPECT_FALSE(has(Collective::kAllToAll, Algorithm::kRing));
  system.has_nvls = true;
  EXPECT_TRUE(has(kAllReduce, Algorithm::kNvls));
  EXPECT_FALSE(has(kAllReduce, Algorithm::kNvls, Protocol::kLl));
  EXPECT_FALSE(has(kBroadcast, Algorithm::kNvls));
  system.ranks = 16;
  system.nodes = 2;
  EXPECT_FALSE(has(kAllReduce, Algorithm::kNvls));
  EXPECT_TRUE(has(kAllReduce, Algorithm::kNvlsTree));
  EXPECT_FALSE(has(kAllGather, Algorithm::kNvlsTree));
  system.has_ll128 = false;
  EXPECT_FALSE(has(kAllReduce, Algorithm::kRing, Protocol::kLl128));
  system.generation = Generation::kAmpere;  // there is no such efficiency
  system.nodes = 1;
  EXPECT_FALSE(has(kAllReduce, Algorithm::kNvls));
  system.ranks = 1;
  EXPECT_FALSE(has(kAllReduce, Algorithm::kRing));
  system.nodes = 2;
  EXPECT_THROW(has(kAllReduce, Algorithm::kRing), std::invalid_argument);
}

TEST(NcclCostModelTest, NvlsCountsTheSwitchOnceForBothWays) {
  System system = EightH100();
  system.has_nvls = true;
  GraphOf(system, Algorithm::kNvls) = {.channels = 8, .intra_GBps = 40};
  const auto cost = CostOf(system, kAllReduce, Algorithm::kNvls, Protocol::kSimple);
  EXPECT_DOUBLE_EQ(cost.value().latency_us, 25);
  EXPECT_DOUBLE_EQ(cost.value().algbw_GBps, 8 * 40 * 0.85 * 7 / 8 * 2 * 8 / 14);
}

TEST(NcclCostModelTest, RingsOverNodesWaitLongerFromTheFirst64BytesOn) {
  System system = EightH100();
  system.ranks = 16;
  system.nodes = 2;
  const auto time = [&](std::uint64_t bytes, Protocol protocol = Protocol::kSimple) {
    return TimeUs(system, {.collective = kAllReduce, .bytes = bytes}, Algorithm::kRing, protocol)
        .value();
  };
  const double latency = 8.4 + 28 * 3.4 + 2 * 14;  // 30 steps, of which 2 cross
  EXPECT_NEAR(time(0), latency, 1e-9);
  const std::uint64_t edge = 64 * 12 * 16;
  const double rate = 360 * 16.0 / 30;
  EXPECT_NEAR(time(edge - 1), latency + (edge - 1) / (1000 * rate), 1e-9);
  EXPECT_NEAR(time(edge), 1.4 * latency + edge / (1000 * rate), 1e-9);
  system.generation = Generation::kVolta;
  EXPECT_NEAR(time(edge), 1.9 * latency + edge / (1000 * rate), 1e-9);
}

TEST(NcclCostModelTest, TreeCorrectionIsAnInput) {
  System system = EightH100();
  const ModelCall call{.collective = kAllReduce, .bytes = kMiB};
  const double plain = TimeUs(system, call, Algorithm::kTree, Protocol::kSimple).value();
  auto& factors = system.tree_correction.emplace();
  for (auto& protocol : factors) protocol.fill(1);
  EXPECT_EQ(TimeUs(system, call, Algorithm::kTree, Protocol::kSimple), plain);
  factors[2][14] = 0.5;  // 1 MiB = 64 B * 2^14
  EXPECT_NEAR(TimeUs(system, call, Algorithm::kTree, Protocol::kSimple).value(),
              64.4 + 2 * (plain - 64.4), 1e-9);
}

TEST(NcclCostModelTest, CallsOfAGroupPayTheLatencyEach) {
  const System system = EightH100();
  const auto time = [&](Algorithm algorithm, int calls) {
    return TimeUs(system, {.collective = kAllReduce, .bytes = 0, .pipe_ops = calls}, algorithm,
                  Protocol::kLl)
        .value();
  };
  EXPECT_NEAR(time(Algorithm::kRing, 3), 3 * 15.0, 1e-9);
  EXPECT_NEAR(time(Algorithm::kTree, 3), 3 * 15.2, 1e-9);
}

}  // namespace
}  // namespace hockney::nccl
