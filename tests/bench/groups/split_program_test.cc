// hockney sweep --split, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tests/scripts/virtual_cluster.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunProgram;
using testing::RunUnderMpi;
using testing::ScratchFolder;

constexpr char kShort[] = " -b 1K -e 1K --algorithm ring,recursive_doubling -n 3 -w 1 --out ";

TEST(SplitProgramTest, EveryGroupHasItsRows) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const ScratchFolder folder;
  const Outcome outcome =
      RunUnderMpi(4, "sweep all_reduce,all_gather --split MOD:2" + (kShort + folder.Path("run")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("groups 2, by MOD:2, all at once: 0 (ranks 0,2), 1 "
                                           "(ranks 1,3)"),
                                 HasSubstr("slowest group")));
  std::map<std::string, std::set<std::string>> groups_of;
  for (const SweepRow& row : ReadSweep(folder.Path("run"))) {
    EXPECT_EQ(row.ranks, 2);
    EXPECT_EQ(row.size_bytes, 1024U);
    if (row.status != Status::kOk) continue;
    EXPECT_EQ(row.samples, 3U);
    EXPECT_EQ(row.errors, 0U);
    ASSERT_TRUE(row.slowest_rank.has_value());
    EXPECT_EQ(*row.slowest_rank % 2, row.groups == "MOD:2/1" ? 1 : 0);  // a rank of the run
    groups_of[row.implementation + row.algorithm].insert(row.groups);
  }
  ASSERT_TRUE(groups_of.contains("mpidefault"));
  for (const auto& [what, groups] : groups_of) {
    EXPECT_THAT(groups, ElementsAre("MOD:2/0", "MOD:2/1")) << what;
  }
  EXPECT_EQ(ReadRun(folder.Path("run"))["groups"]["ranks"].dump(), "[[0,2],[1,3]]");
}

TEST(SplitProgramTest, UnlikeGroupsTakeTheSameElements) {
  const ScratchFolder folder;
  const Outcome outcome =
      RunProgram("sweep all_gather --local 3 --split DIV:2" + (kShort + folder.Path("run")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const SweepRow& row : ReadSweep(folder.Path("run"))) {
    EXPECT_EQ(row.count, 128U);
    EXPECT_EQ(row.ranks, row.groups == "DIV:2/0" ? 2 : 1);
    EXPECT_EQ(row.size_bytes, 512U * static_cast<std::uint64_t>(row.ranks));
  }
}

TEST(SplitProgramTest, LaunchesOfOtherGroupsAreNotComparable) {
  const ScratchFolder folder;
  const std::string out = kShort + folder.Path("run");
  ASSERT_EQ(RunProgram("sweep all_reduce --local 4 --split DIV:2" + out).exit_code, 0);
  const Outcome outcome = RunProgram("sweep all_reduce --local 4 --append" + out);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("groups"));
}

TEST(SplitProgramTest, BadSplitsEndWithOneLine) {
  for (const char* split : {"DIV:0", "no/such/file", "MOD:x"}) {
    const Outcome outcome =
        RunProgram(std::string("sweep all_reduce --local 2 -b 8 -e 8 --split ") + split);
    EXPECT_EQ(outcome.exit_code, 2) << split;
    EXPECT_EQ(testing::CountLines(outcome.err), 1U) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("--split"));
  }
  const Outcome root = RunProgram("sweep broadcast --local 3 --split DIV:2 -r 1 -b 8 -e 8");
  EXPECT_EQ(root.exit_code, 2);
  EXPECT_THAT(root.err, HasSubstr("expected a rank of 0..0 in every group"));
}

TEST(SplitProgramTest, NcclTestsVariableMakesGroups) {
  const ScratchFolder folder;
  const Outcome outcome = testing::RunShell(
      "ln -s \"$HOCKNEY\" " + folder.Path("all_reduce_perf") + " && NCCL_TESTS_SPLIT='% 2' " +
      folder.Path("all_reduce_perf") + " -t 4 -b 1K -e 4K -f 2 -n 3 -w 1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("#  Rank  2 Group  0"), HasSubstr("#  Rank  3 Group  1"),
                                 HasSubstr("# slowest group: ")));
  // A group of two, whose bus bandwidth is its rate.
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("\n +4096 +1024 "));
}

TEST(SplitProgramTest, GroupsMayReachOverHosts) {
  const testing::VirtualCluster cluster;
  if (!cluster.UpOrSkip("--racks 1 --hosts 2") ||
      !RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) {
    return;
  }
  const ScratchFolder folder;
  // Groups within the hosts, across them, and one of three ranks beside a rank by itself.
  for (const char* split : {"DIV:2", "MOD:2", "DIV:3"}) {
    const std::string run = folder.Path(split);
    const Outcome outcome =
        cluster.Run("-n 4", std::string("$HOCKNEY sweep all_reduce -b 4K -e 1M -f 256 --algorithm "
                                        "ring,hierarchical -n 2 -w 1 --split ") +
                                split + " --out " + run);
    ASSERT_EQ(outcome.exit_code, 0) << split << ": " << outcome.err;
    std::set<std::int64_t> nodes;
    for (const SweepRow& row : ReadSweep(run)) {
      if (row.status == Status::kOk) nodes.insert(*row.nodes);
      EXPECT_NE(row.status, Status::kWrongData);
    }
    if (split == std::string("DIV:2")) {
      EXPECT_THAT(nodes, ElementsAre(1));
    } else if (split == std::string("MOD:2")) {
      EXPECT_THAT(nodes, ElementsAre(2));
    } else {
      EXPECT_THAT(nodes, ElementsAre(1, 2));
    }
  }
}

}  // namespace
}  // namespace hockney
