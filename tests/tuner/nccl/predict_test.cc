#include "tuner/nccl/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "tuner/nccl/cost_model.h"

namespace hockney::nccl {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string Failure(const ClusterPreset& preset, const PredictCall& call,
                    const PredictOptions& options = {}) {
  try {
    Predict(preset, call, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no failure";
}

// Two nodes exchange half of the vector in each tree and way; in four, the inner node of one tree
// passes the other way's halves to two children.
TEST(NcclPredictTest, TreeShareIsTheBusiestNodes) {
  EXPECT_EQ(TreeShare(1, 1), 0);
  EXPECT_EQ(TreeShare(2, 1), 1);
  EXPECT_EQ(TreeShare(4, 1), 2);
  EXPECT_EQ(TreeShare(248, 1), 2);
  EXPECT_EQ(TreeShare(4, 4), 0);
  EXPECT_EQ(TreeShare(4, 2), 2);  // each tree has two edges between the halves
}

TEST(NcclPredictTest, RingsMoveTheirShareAtTheRateNcclCountsOn) {
  const ClusterPreset h100 = FindClusterPreset("h100");
  const Prediction ring = Predict(h100, {.ranks = 8, .bytes = 16 * kGiB}, {.nvls = false});
  EXPECT_EQ(ring.algorithm, Algorithm::kRing);
  EXPECT_EQ(ring.protocol, Protocol::kSimple);
  EXPECT_DOUBLE_EQ(ring.nvlink_bytes, 16.0 * kGiB * 14 / 8);
  EXPECT_EQ(ring.nic_bytes, 0);
  EXPECT_EQ(ring.bound, "nvlink");
  EXPECT_NEAR(ring.transfer_us, 16.0 * kGiB * 14 / 8 / (18 * 20.6 * 1e3), 1e-6);
  EXPECT_NEAR(ring.latency_us, 56.0, 1e-6);
  EXPECT_EQ(ring.fill_us, 0);
  EXPECT_EQ(ring.channels, 24);
}

TEST(NcclPredictTest, ALinkThatWasMeasuredSlowerCounts) {
  ClusterPreset preset = FindClusterPreset("h200");
  preset.nvlink->measured_GBps->value = 100;
  const Prediction ring = Predict(preset, {.ranks = 8, .bytes = kGiB}, {.nvls = false});
  EXPECT_NEAR(ring.transfer_us, 1.0 * kGiB * 14 / 8 / (100 * 1e3), 1e-6);
}

// Three stages, of which the middle one is the transfer: (n + n/8) in each GPU's links.
TEST(NcclPredictTest, NvlsFillsByTheLoopsOfNcclsChunks) {
  const Prediction nvls = Predict(FindClusterPreset("h100"), {.ranks = 8, .bytes = 16 * kGiB});
  EXPECT_EQ(nvls.algorithm, Algorithm::kNvls);
  EXPECT_EQ(nvls.channels, 16);
  const double rate = 18 * 20.6 * 0.85 * 1e3;
  EXPECT_NEAR(nvls.transfer_us, 16.0 * kGiB * 1.125 / rate, 1e-6);
  const double loop = 16 * 8 * 128 * 1024;
  EXPECT_NEAR(nvls.fill_us, loop * (3 - 1.125) / rate, 1e-6);
  EXPECT_NEAR(nvls.latency_us, 25, 1e-6);
  const Prediction shorter = Predict(FindClusterPreset("h100"), {.ranks = 8, .bytes = kGiB - 1},
                                     {.algorithm = Algorithm::kNvls});
  EXPECT_NEAR(shorter.fill_us, loop / 2 * (3 - 1.125) / rate, 1e-6);
}

TEST(NcclPredictTest, SmallCallsTakeTheLatencyOfRings) {
  const Prediction small = Predict(FindClusterPreset("h100"), {.ranks = 8, .bytes = 8});
  EXPECT_EQ(small.algorithm, Algorithm::kRing);
  EXPECT_EQ(small.protocol, Protocol::kLl);
  EXPECT_NEAR(small.time_us(), 15.0, 0.01);
  const Prediction far = Predict(FindClusterPreset("h100"), {.ranks = 1984, .bytes = 8});
  EXPECT_EQ(far.algorithm, Algorithm::kTree);
}

TEST(NcclPredictTest, NodesAreBoundByTheirNics) {
  const ClusterPreset b200 = FindClusterPreset("b200");
  const PredictCall call{.ranks = 32, .bytes = 16 * kGiB};
  const Prediction tree = Predict(b200, call, {.algorithm = Algorithm::kNvlsTree});
  EXPECT_EQ(tree.bound, "nic");
  EXPECT_DOUBLE_EQ(tree.nic_bytes, 2.0 * 16 * kGiB);
  EXPECT_NEAR(tree.transfer_us, 2.0 * 16 * kGiB / (8 * 49 * 1e3), 1e-6);
  const Prediction one_each = Predict(b200, {.ranks = 4, .bytes = kGiB}, {.ranks_per_node = 1});
  EXPECT_EQ(one_each.nvlink_bytes, 0);
  EXPECT_EQ(one_each.bound, "nic");
}

TEST(NcclPredictTest, SwitchesHoldBackWhatLeavesThem) {
  ClusterPreset preset = FindClusterPreset("h100");
  preset.switches.at(0).nodes.value = 2;
  preset.switches.at(0).oversubscription.value = 16;
  const PredictCall call{.ranks = 32, .bytes = 16 * kGiB};
  const PredictOptions ring{.algorithm = Algorithm::kRing, .protocol = Protocol::kSimple};
  const Prediction bound = Predict(preset, call, ring);
  EXPECT_EQ(bound.bound, "scalable unit");
  EXPECT_NEAR(bound.transfer_us, 16.0 * kGiB * 62 / 32 / (2 * 8 * 49 * 1e3 / 16), 1e-3);
  preset.switches.at(0).nodes.value = 4;  // all are below it
  EXPECT_EQ(Predict(preset, call, ring).bound, "nvlink");
}

TEST(NcclPredictTest, TimeGrowsWithBytes) {
  const ClusterPreset h200 = FindClusterPreset("h200");
  for (const std::int64_t ranks : {2, 5, 8, 16, 64, 1984}) {
    double last = 0;
    for (std::uint64_t bytes = 8; bytes <= 16 * kGiB; bytes *= 2) {
      const Prediction prediction = Predict(h200, {.ranks = ranks, .bytes = bytes});
      EXPECT_GE(prediction.time_us(), last * 0.99) << ranks << " " << bytes;
      last = prediction.time_us();
    }
  }
}

TEST(NcclPredictTest, WhatCannotBePredictedSaysWhy) {
  const ClusterPreset h100 = FindClusterPreset("h100");
  EXPECT_EQ(Failure(FindClusterPreset("tcp-10g"), {.ranks = 2, .bytes = 8}),
            "NCCL needs GPUs: the cluster \"tcp-10g\" has none");
  EXPECT_EQ(Failure(h100, {.ranks = 12, .bytes = 8}),
            "12 ranks, 8 a node: expected 2 to 1048576 ranks on whole nodes of at most 8");
  EXPECT_EQ(Failure(h100, {.ranks = 1, .bytes = 8}),
            "1 ranks, 1 a node: expected 2 to 1048576 ranks on whole nodes of at most 8");
  EXPECT_EQ(Failure(h100, {.collective = Collective::kAllToAll, .ranks = 8, .bytes = 8}),
            "NCCL has no such all_to_all on 8 ranks of h100");
  EXPECT_EQ(Failure(h100, {.ranks = 8, .bytes = 8}, {.algorithm = Algorithm::kPat}),
            "NCCL has no such all_reduce on 8 ranks of h100");
  ClusterPreset bare = h100;
  bare.nvlink.reset();
  bare.pcie_GBps.reset();
  EXPECT_EQ(Failure(bare, {.ranks = 8, .bytes = 8}),
            "the cluster \"h100\" has neither \"nvlink\" nor \"pcie\"");
  bare.pcie_GBps = h100.pcie_GBps;
  EXPECT_EQ(Predict(bare, {.ranks = 8, .bytes = kGiB}, {.nvls = false}).bound, "pcie");
}

TEST(NcclPredictTest, EveryCollectiveOfNcclHasATime) {
  const ClusterPreset b200 = FindClusterPreset("b200");
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
        Collective::kBroadcast, Collective::kReduce}) {
    for (const std::int64_t ranks : {2, 8, 16, 512}) {
      const Prediction prediction =
          Predict(b200, {.collective = collective, .ranks = ranks, .bytes = 1 << 20});
      EXPECT_GT(prediction.time_us(), 0);
      EXPECT_FALSE(prediction.bound.empty());
    }
  }
}

}  // namespace
}  // namespace hockney::nccl
