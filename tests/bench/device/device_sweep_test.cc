// Sweeps on memory of devices, by the program with threads of the CPU in place of GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;
using testing::RunShell;
using testing::ScratchFolder;

Outcome RunOnThreads(const std::string& arguments) {
  return RunShell(HOCKNEY_ON_THREADS " " + arguments);
}

std::vector<SweepRow> OkRows(const std::string& folder) {
  std::vector<SweepRow> rows;
  for (const SweepRow& row : ReadSweep(folder)) {
    if (row.status == Status::kOk) rows.push_back(row);
  }
  return rows;
}

TEST(DeviceSweepTest, EveryCollectiveAndAlgorithmIsMeasuredAndRight) {
  const ScratchFolder folder;
  const Outcome outcome = RunOnThreads(
      "sweep all --memory cuda --local 3 -b 8 -e 8K -f 1024 --place both -n 1 -w 0 -G 0 --out " +
      folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::pair<Collective, std::string>> seen;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    if (row.status == Status::kSkipped) {
      EXPECT_NE(row.reason, "");
      continue;
    }
    EXPECT_EQ(row.status, Status::kOk) << row.algorithm << ": " << row.reason;
    EXPECT_EQ(row.memory_kind, "cuda");
    EXPECT_EQ(row.clock, "local");
    EXPECT_EQ(row.transport, "cuda:peer");
    EXPECT_FALSE(row.page_kib.has_value());
    if (row.collective != Collective::kBarrier) {
      EXPECT_EQ(row.errors, 0U) << row.algorithm;
    }
    seen.insert({row.collective, row.algorithm});
  }
  EXPECT_EQ(seen.size(), 44U);  // as on memory of the host
}

TEST(DeviceSweepTest, RanksThatAreProcessesOpenEachOthersMemory) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "no mpirun")) return;
  const ScratchFolder folder;
  const Outcome outcome = RunShell(testing::MpirunWords(2) +
                                   HOCKNEY_ON_THREADS
                                   " sweep all_reduce all_gather --memory cuda --peer-memory fd "
                                   "-b 64 -e 256K -f 4096 -n 2 --out " +
                                   folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = OkRows(folder.Path("a"));
  EXPECT_GT(rows.size(), 10U);
  for (const SweepRow& row : rows) EXPECT_EQ(row.transport, "cuda:fd") << row.algorithm;
}

TEST(DeviceSweepTest, WrongDataIsFound) {
  const ScratchFolder folder;
  const Outcome outcome =
      RunShell("HOCKNEY_TEST_DEVICES=corrupt " HOCKNEY_ON_THREADS
               " sweep all_reduce --memory cuda --local 2 -b 64 -e 64 -n 1 --out " +
               folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 5) << outcome.out;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    if (row.status != Status::kSkipped) {
      EXPECT_EQ(row.status, Status::kWrongData) << row.algorithm;
    }
  }
}

TEST(DeviceSweepTest, GraphsAreRowsOfTheirOwn) {
  const ScratchFolder folder;
  const Outcome outcome = RunOnThreads(
      "sweep all_reduce --memory cuda --local 2 -b 64 -e 64 -n 2 -G 12 --out " + folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::multiset<std::tuple<std::string, std::string, bool>> seen;
  for (const SweepRow& row : OkRows(folder.Path("a"))) {
    seen.insert({row.algorithm, row.protocol, row.graph.has_value()});
    if (!row.graph) continue;
    EXPECT_EQ(row.graph, 12);
    EXPECT_EQ(row.mode, "streamed");
    EXPECT_EQ(row.errors, 0U);
  }
  EXPECT_EQ(seen.count({"ring", "simple", false}), 1U);
  EXPECT_EQ(seen.count({"ring", "simple", true}), 1U);
  EXPECT_THAT(outcome.out, HasSubstr("one_shot graph"));
}

TEST(DeviceSweepTest, StreamedCallsFollowEachOther) {
  const ScratchFolder folder;
  const Outcome outcome = RunOnThreads(
      "sweep all_reduce --memory cuda --mode streamed --algorithm ring --protocol simple --local 2 "
      "-b 4K -e 4K -n 2 -G 0 --out " +
      folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = OkRows(folder.Path("a"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].mode, "streamed");
  EXPECT_FALSE(rows[0].graph.has_value());
}

TEST(DeviceSweepTest, LanesAndSlicesAreVaried) {
  const ScratchFolder folder;
  const Outcome outcome = RunOnThreads(
      "sweep all_reduce --memory cuda --algorithm ring --lanes 1,2 --slices 1,3 --protocol simple "
      "--local 2 -b 2M -e 2M -n 1 -w 0 -G 0 --implementation hockney --out " +
      folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::pair<std::int64_t, std::string>> seen;
  for (const SweepRow& row : OkRows(folder.Path("a"))) {
    seen.insert({*row.lanes, FindParameter(row, "slices")});
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST(DeviceSweepTest, GroupsWorkAtOnce) {
  const ScratchFolder folder;
  const Outcome outcome = RunOnThreads(
      "sweep all_reduce --memory cuda --split MOD:2 --local 4 -b 64 -e 64 -n 1 --out " +
      folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::string> groups;
  for (const SweepRow& row : OkRows(folder.Path("a"))) groups.insert(row.groups);
  EXPECT_EQ(groups.size(), 2U);
}

TEST(DeviceSweepTest, NcclIsARowWithTheReasonWhereItCannotRun) {
  const ScratchFolder folder;
  const Outcome outcome = RunOnThreads(
      "sweep all_reduce --memory cuda --algorithm ring --local 2 -b 64 -e 64 -n 1 --nccl-lib "
      "/a/libnccl.so --nccl-lib /b/libnccl.so --out " +
      folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<std::string> libraries;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    if (row.implementation != "nccl") continue;
    EXPECT_EQ(row.status, Status::kSkipped);
    EXPECT_THAT(row.reason, HasSubstr("no GPU for NCCL"));
    libraries.push_back(FindParameter(row, "library"));
  }
  EXPECT_EQ(libraries, (std::vector<std::string>{"/a/libnccl.so", "/b/libnccl.so"}));
  std::ifstream file(folder.Path("a") + "/run.json");
  const auto run = nlohmann::json::parse(file);
  EXPECT_EQ(run["nccl"].size(), 2U);
  EXPECT_EQ(run["devices"].size(), 2U);
  EXPECT_EQ(run["ranks_on_device"], 1);
}

TEST(DeviceLinksTest, LinksBetweenDevicesAreMeasured) {
  const ScratchFolder folder;
  const Outcome outcome = RunOnThreads(
      "links --memory cuda --local 3 -b 8 -e 64K --budget 1ms --out " + folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = ReadLinks(folder.Path("a"));
  EXPECT_GT(rows.size(), 5U);
  for (const LinkRow& row : rows) {
    const bool share_one = row.rank_a == 0 && row.rank_b == 2;  // three ranks on two devices
    EXPECT_EQ(row.level, share_one ? "gpu" : "node");
    EXPECT_GT(row.time_us_median, 0);
  }
}

TEST(DeviceSweepTest, WhatIsRequiredAndMissingEndsTheRunWithTheReason) {
  const Outcome outcome =
      RunOnThreads("sweep all_reduce --memory cuda --local 2 --require gdr -b 8 -e 8");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("--require gdr: all ranks are on one host"));
  EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
}

TEST(DeviceSweepTest, WithoutALauncherARankRunsOnEachDevice) {
  const ScratchFolder folder;
  const Outcome outcome = RunShell("HOCKNEY_TEST_DEVICES=3 " HOCKNEY_ON_THREADS
                                   " sweep barrier --memory cuda -n 1 --out " +
                                   folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("3 ranks as threads, one a GPU"));
}

TEST(DeviceSweepTest, WithoutADeviceTheRunEndsWithTheReason) {
  for (const char* ranks : {"", "--local 2"}) {
    const Outcome outcome =
        RunShell("HOCKNEY_TEST_DEVICES=0 " HOCKNEY_ON_THREADS " sweep all_reduce --memory cuda " +
                 std::string(ranks));
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("no GPU: none was asked for"));
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
  }
}

TEST(DeviceSweepTest, OptionsThatDoNothingAreRefused) {
  for (const char* arguments :
       {"--nccl-lib libnccl.so.2", "-G 10", "--peer-memory fd", "--nccl-channels 4",
        "--memory cuda --store cached", "--memory cuda --clock hca3", "--implementation nccl",
        "--memory cuda --format nccl-tests", "--memory cuda --nccl-algorithm star",
        "--memory cuda -G many", "--memory disk", "--require gdr", "--memory cuda --require ib"}) {
    const Outcome outcome = RunOnThreads("sweep all_reduce --local 2 " + std::string(arguments));
    EXPECT_EQ(outcome.exit_code, 2) << arguments << ": " << outcome.out;
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("expected")) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

}  // namespace
}  // namespace hockney
