// Sweeps on memory of devices of several hosts: threads of the CPU in place of GPUs, network
// namespaces in place of hosts, and the proxy between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tests/scripts/virtual_cluster.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::ScratchFolder;
using testing::VirtualCluster;

constexpr char kSweep[] = HOCKNEY_ON_THREADS
    " sweep all_reduce --memory cuda --peer-memory fd --algorithm ring,two_shot -b 1K -e 64K -f 64 "
    "-n 1 -w 0 -G 0 ";

bool MayRun(const VirtualCluster& cluster) {
  return cluster.UpOrSkip("--racks 1 --hosts 2") &&
         RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed");
}

TEST(DeviceHostsTest, MessagesGoThroughMemoryOfTheHost) {
  const VirtualCluster cluster;
  if (!MayRun(cluster)) return;
  const ScratchFolder folder;
  const Outcome outcome = cluster.Run("-n 2", kSweep + ("--out " + folder.Path("run")));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::string> algorithms;
  for (const SweepRow& row : ReadSweep(folder.Path("run"))) {
    if (row.status != Status::kOk) continue;
    EXPECT_EQ(row.transport, "ucx:tcp+staged");
    EXPECT_EQ(row.errors, 0U);
    algorithms.insert(row.algorithm);
  }
  EXPECT_TRUE(algorithms.contains("ring"));
  EXPECT_EQ(ReadRun(folder.Path("run"))["no_gdr_because"], "rank 0: no RDMA network card");
}

// The barrier of all ranks has a proxy of its own, which must move while a group's call is waited
// for.
TEST(DeviceHostsTest, GroupsAcrossHostsWorkAtOnce) {
  const VirtualCluster cluster;
  if (!MayRun(cluster)) return;
  const ScratchFolder folder;
  for (const char* split : {"DIV:2", "MOD:2"}) {
    const std::string run = folder.Path(std::string("run") + split[0]);
    const Outcome outcome = cluster.Run(
        "-n 4", HOCKNEY_ON_THREADS
                    " sweep all_reduce --memory cuda --peer-memory fd --algorithm ring --protocol "
                    "simple -b 1K -e 1K -n 2 -w 0 -G 0 --implementation hockney --split " +
                    std::string(split) + " --out " + run);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::set<std::string> groups;
    for (const SweepRow& row : ReadSweep(run)) groups.insert(row.groups);
    EXPECT_EQ(groups.size(), 2U);
  }
}

TEST(DeviceHostsTest, StepsOfEveryStrategyAreRight) {
  const VirtualCluster cluster;
  if (!MayRun(cluster)) return;
  for (const char* options : {"--sharding ddp", "--sharding zero3", "--parallel tp=2",
                              "--parallel pp=2 --micro-batches 2"}) {
    const ScratchFolder folder;
    const Outcome outcome = cluster.Run(
        "-n 4", HOCKNEY_ON_THREADS
                    " step --memory cuda --peer-memory fd --model gpt2 --scale "
                    "layers=2,hidden=128,vocab=64 --seq-length 16 --device H100 --steps 1 "
                    "--warmups 0 " +
                    std::string(options) + " --out " + folder.Path("run"));
    ASSERT_EQ(outcome.exit_code, 0) << options << outcome.err;
    const auto rows = ReadSteps(folder.Path("run"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].nodes, 2);
    EXPECT_EQ(rows[0].data_errors, 0) << options;
    EXPECT_EQ(ReadRun(folder.Path("run"))["no_gdr_because"], "rank 0: no RDMA network card");
  }
}

TEST(DeviceHostsTest, WhatIsRequiredAndMissingEndsTheRunWithTheReason) {
  const VirtualCluster cluster;
  if (!MayRun(cluster)) return;
  const Outcome outcome = cluster.Run("-n 2", kSweep + std::string("--require gdr"));
  EXPECT_THAT(outcome.err, HasSubstr("--require gdr: rank 0: no RDMA network card"));
}

}  // namespace
}  // namespace hockney
