// MPI's own algorithms as rows of a sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::CountLines;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunProgram;
using testing::RunUnderMpi;
using testing::ScratchFolder;

using RowsByName = std::map<std::pair<Collective, std::string>, SweepRow>;

RowsByName ByName(const std::vector<SweepRow>& rows) {
  RowsByName named;
  for (const SweepRow& row : rows) named[{row.collective, row.algorithm}] = row;
  return named;
}

bool HasMpirunOrSkips() { return RequireOrSkip("mpi", testing::HasMpirun(), "no mpirun here"); }

constexpr const char* kShort = " --implementation mpi -n 3 -w 1 --progress never ";

TEST(MpiRowsTest, EveryAlgorithmIsTimedBesideTheDefaultAndChecked) {
  if (!HasMpirunOrSkips()) return;
  const ScratchFolder folder;
  const Outcome outcome = RunUnderMpi(2, "sweep all -b 4K -e 4K --mpi-algorithms all" +
                                             std::string(kShort) + "--out " + folder.Path("a"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<SweepRow> rows = ReadSweep(folder.Path("a"));
  for (const SweepRow& row : rows) {
    EXPECT_EQ(row.implementation, "mpi");
    EXPECT_EQ(row.requested_algorithm, row.algorithm);
    EXPECT_THAT(row.parameters, HasSubstr("library=Open MPI"));
    if (row.status == Status::kSkipped) {
      EXPECT_THAT(row.reason, HasSubstr("Open MPI")) << row.algorithm;
      continue;
    }
    EXPECT_EQ(row.status, Status::kOk) << Name(row.collective) << " " << row.algorithm;
    EXPECT_EQ(row.samples, 3U);
    if (row.collective != Collective::kBarrier) {
      EXPECT_EQ(row.errors, 0U);
    }
  }
  RowsByName named = ByName(rows);
  for (const auto& [collective, name] : {std::pair(Collective::kAllReduce, "default"),
                                         {Collective::kAllReduce, "rabenseifner"},
                                         {Collective::kAllGather, "two_proc"},
                                         {Collective::kBroadcast, "scatter_allgather_ring"},
                                         {Collective::kReduceScatter, "butterfly"},
                                         {Collective::kBarrier, "tree"},
                                         {Collective::kAllToAllV, "pairwise"},
                                         {Collective::kGather, "linear_sync"},
                                         {Collective::kScatter, "linear_nb"},
                                         {Collective::kSendRecv, "default"}}) {
    EXPECT_EQ((named[{collective, name}].samples), 3U) << Name(collective) << " " << name;
  }
  EXPECT_THAT((named[{Collective::kAllReduce, "segmented_ring"}].reason), HasSubstr("runs ring"));
  EXPECT_THAT((named[{Collective::kBroadcast, "chain"}].parameters), HasSubstr("faninout=4;lib"));
}

TEST(MpiRowsTest, WhatWouldBeAnotherAlgorithmIsSkippedWithTheReason) {  // B36
  if (!HasMpirunOrSkips()) return;
  const ScratchFolder folder;
  const Outcome outcome =
      RunUnderMpi(3,
                  "sweep all_gather all_reduce -b 8 -e 8 "
                  "--mpi-algorithms two_proc,neighbor,recursive_doubling,bruck,ring,smp" +
                      std::string(kShort) + "--out " + folder.Path("a"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  RowsByName named = ByName(ReadSweep(folder.Path("a")));
  const auto reason = [&](Collective collective, const std::string& name) {
    EXPECT_TRUE((named.contains({collective, name}))) << name;
    return named[{collective, name}].reason;
  };
  EXPECT_THAT(reason(Collective::kAllGather, "two_proc"), HasSubstr("for 2 ranks"));
  EXPECT_THAT(reason(Collective::kAllGather, "neighbor"), HasSubstr("runs ring instead"));
  EXPECT_THAT(reason(Collective::kAllGather, "recursive_doubling"), HasSubstr("runs bruck"));
  EXPECT_EQ(reason(Collective::kAllGather, "bruck"), "");
  EXPECT_THAT(reason(Collective::kAllReduce, "ring"), HasSubstr("runs recursive_doubling"));
  EXPECT_EQ(reason(Collective::kAllReduce, "recursive_doubling"), "");
  EXPECT_THAT(reason(Collective::kAllReduce, "smp"), HasSubstr("no smp of allreduce"));
  EXPECT_FALSE((named.contains({Collective::kAllReduce, "bruck"}))) << "not an all_reduce";
}

TEST(MpiRowsTest, ParametersOfOpenMpiThatAreSetStandBeforeOurs) {
  if (!HasMpirunOrSkips()) return;
  const ScratchFolder folder;
  const std::string sweep =
      "sweep all_reduce -b 4K -e 4K --mpi-algorithms ring,segmented_ring" + std::string(kShort);
  const auto reason = [&](const std::string& mca, const std::string& run) {
    const Outcome outcome = testing::RunShell(testing::MpirunWords(2) + mca + " $HOCKNEY " + sweep +
                                              "--out " + folder.Path(run));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    RowsByName named = ByName(ReadSweep(folder.Path(run)));
    EXPECT_EQ((named[{Collective::kAllReduce, "default"}].status), Status::kOk);
    return named[{Collective::kAllReduce, "ring"}].reason;
  };
  EXPECT_THAT(reason("--mca coll_tuned_allreduce_algorithm 3", "a"),
              HasSubstr("coll_tuned_use_dynamic_rules"));
  EXPECT_EQ(reason("--mca coll_tuned_use_dynamic_rules 1 --mca "
                   "coll_tuned_allreduce_algorithm_segmentsize 64",
                   "b"),
            "");
  const SweepRow segmented =
      ByName(ReadSweep(folder.Path("b")))[{Collective::kAllReduce, "segmented_ring"}];
  EXPECT_EQ(segmented.status, Status::kOk) << segmented.reason;
  EXPECT_THAT(segmented.parameters, HasSubstr(";segsize=64"));
  EXPECT_THAT(reason("--mca coll_han_priority 90", "c"), HasSubstr("coll/han stands before"));
}

TEST(MpiRowsTest, WithoutTheOptionThereIsTheDefaultAlone) {
  if (!HasMpirunOrSkips()) return;
  const ScratchFolder folder;
  ASSERT_EQ(RunUnderMpi(
                2, "sweep all_reduce -b 8 -e 8" + std::string(kShort) + "--out " + folder.Path("a"))
                .exit_code,
            0);
  const auto rows = ReadSweep(folder.Path("a"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].algorithm, "default");
}

TEST(MpiRowsTest, WithoutMpiOneRowSaysWhy) {
  const ScratchFolder folder;
  const Outcome outcome = RunProgram(
      "sweep all_reduce --local 2 -b 8 -e 8 -n 1 --algorithm ring --mpi-algorithms all "
      "--out " +
      folder.Path("a"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    if (row.implementation != "mpi") continue;
    EXPECT_THAT(row.reason, HasSubstr("MPI runs between processes"));
  }
}

TEST(MpiRowsTest, NamesThatAreNoneAreRefused) {
  const auto error = [](const std::string& arguments) {
    const Outcome outcome = RunProgram("sweep all_reduce --local 2 " + arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(error("--mpi-algorithms rng"),
              AllOf(HasSubstr("--mpi-algorithms"), HasSubstr("ring")));
  EXPECT_THAT(error("--mpi-algorithms tree,bruck"),
              AllOf(HasSubstr("\"bruck\""), HasSubstr("rabenseifner")));
  EXPECT_THAT(error("--mpi-algorithms all --implementation hockney"),
              HasSubstr("mpi among --implementation"));
  const Outcome plan = RunProgram("sweep all_reduce --local 2 --dry-run --mpi-algorithms ring");
  EXPECT_THAT(plan.out, HasSubstr("MPI beside its default: ring"));
}

}  // namespace
}  // namespace hockney
