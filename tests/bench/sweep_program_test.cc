// Runs the program as a user does and reads what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using testing::CountLines;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunProgram;
using testing::ScratchFolder;

TEST(SweepProgramTest, EveryCollectiveAndAlgorithmIsMeasuredAndRight) {
  const ScratchFolder folder;
  const Outcome outcome = RunProgram(
      "sweep all --local 3 -b 8 -e 8K -f 1024 --place both -n 2 -w 0 --out " + folder.Path("a"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::pair<Collective, std::string>> seen;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    if (row.status == Status::kSkipped) {
      EXPECT_NE(row.reason, "");
      continue;
    }
    EXPECT_EQ(row.status, Status::kOk) << row.algorithm << ": " << row.reason;
    EXPECT_EQ(row.samples, 2U);
    if (row.collective != Collective::kBarrier) {
      EXPECT_EQ(row.errors, 0U) << row.algorithm;
    }
    EXPECT_EQ(row.verified, "yes");
    seen.insert({row.collective, row.algorithm});
  }
  EXPECT_EQ(seen.size(), 44U);
}

TEST(SweepProgramTest, SamplesAndRunJsonBelongToTheRows) {
  const ScratchFolder folder;
  const std::string run = folder.Path("b");
  ASSERT_EQ(RunProgram("sweep all_reduce --local 2 -b 64 -e 64 -n 7 --out " + run).exit_code, 0);
  const auto rows = ReadSweep(run);
  std::size_t samples = 0;
  for (const SweepRow& row : rows) samples += row.samples;
  EXPECT_EQ(ReadSamples(run).size(), samples);
  std::ifstream file(run + "/run.json");
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["outcome"], "finished");
  EXPECT_EQ(json["exit_code"], 0);
}

TEST(SweepProgramTest, TheNumberOfSamplesAskedForIsExact) {
  const ScratchFolder folder;
  const std::string run = folder.Path("n");
  ASSERT_EQ(
      RunProgram("sweep broadcast all_reduce --local 2 -b 8 -e 8 -n 1 --out " + run).exit_code, 0);
  for (const SweepRow& row : ReadSweep(run)) {
    if (row.status != Status::kOk) continue;
    EXPECT_EQ(row.samples, 1U) << row.algorithm;
    EXPECT_FALSE(row.time_us_ci_low.has_value()) << "one sample has no interval";
  }
}

TEST(SweepProgramTest, TheClockAskedForIsUsedAndRecorded) {
  for (const auto* clock : {"auto", "tsc", "hca3", "local"}) {
    const ScratchFolder folder;
    const std::string run = folder.Path("c");
    const Outcome outcome = RunProgram(
        "sweep all_reduce --local 2 --algorithm ring -b 8 -e 1M -f 131072 -n 3 --clock " +
        std::string(clock) + " --out " + run);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    int measured = 0;
    for (const SweepRow& row : ReadSweep(run)) {
      if (row.status != Status::kOk) continue;
      ++measured;
      EXPECT_EQ(row.clock, std::string(clock) == "auto" ? "tsc" : clock);
      // One host is one clock, whatever compares it.
      EXPECT_EQ(row.clock_error_us.has_value(), row.clock == "hca3");
      EXPECT_EQ(row.clock_error_us.value_or(0), 0);
      EXPECT_EQ(row.entry_skew_ns.has_value(), row.clock != "local");
      EXPECT_EQ(row.reason, "");
    }
    EXPECT_GT(measured, 1) << clock;
  }
}

TEST(SweepProgramTest, ASweepThatCanMeasureNothingDoesNotSucceed) {
  const ScratchFolder folder;
  const Outcome outcome = RunProgram(
      "sweep all_reduce --local 2 --implementation mpi -b 8 -e 8 --out " + folder.Path("m"));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("MPI runs between processes"));
}

TEST(SweepProgramTest, AnExistingFolderIsRefusedUnlessALaunchIsAdded) {
  const ScratchFolder folder;
  const std::string command =
      "sweep broadcast --local 2 -b 8 -e 8 -n 1 --algorithm ring --out " + folder.Path("c");
  ASSERT_EQ(RunProgram(command).exit_code, 0);
  const Outcome again = RunProgram(command);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_EQ(CountLines(again.err), 1U) << again.err;
  EXPECT_EQ(RunProgram(command + " --append").exit_code, 0);
  std::set<std::int64_t> launches;
  for (const SweepRow& row : ReadSweep(folder.Path("c"))) launches.insert(row.launch);
  EXPECT_EQ(launches, (std::set<std::int64_t>{0, 1}));
}

TEST(SweepProgramTest, SizesOfTheDryRunAreThoseAskedFor) {
  const Outcome fixed = RunProgram("sweep all_reduce -b 64M -e 70M -i 2M --local 2 --dry-run");
  for (const char* size : {"67108864", "69206016", "71303168", "73400320"}) {
    EXPECT_THAT(fixed.out, HasSubstr(size));
  }
  EXPECT_THAT(fixed.out, HasSubstr("4 cells"));
  const Outcome huge = RunProgram("sweep all_reduce -b 1T -e 1T --local 2 --dry-run");
  EXPECT_THAT(huge.out, HasSubstr("1099511627776"));
  EXPECT_EQ(huge.exit_code, 0);
}

TEST(SweepProgramTest, BadInputIsOneLineThatNamesTheOption) {
  const std::pair<const char*, const char*> cases[] = {
      {"sweep all_reduce -b 1G -e 1K", "--maxbytes"},
      {"sweep all_reduce -b 12Q", "12Q"},
      {"sweep all_reduce -b -8", "-8"},
      {"sweep all_reduce -f 0", "--stepfactor"},
      {"sweep all_reduce -n 0", "--iters"},
      {"sweep all_reduec", "all_reduce"},
      {"sweep all_reduce -d float33", "float33"},
      {"sweep all_reduce -o plus", "plus"},
      {"sweep all_reduce --algorithm rign", "ring"},
      {"sweep all_reduce --local 2 -r 2", "--root"},
      {"sweep all_reduce --slices 8 --local 2", "1 to 7"},
      {"sweep all_reduce --algorithm bruck", "two_shot"},
      {"sweep all_reduce --place 0", "both"},
      {"sweep all_reduce --lanes 0", "1 to 16"},
      {"sweep all_reduce -r foo", "all"},
      {"sweep all_reduce --local 2 -b 8 -e 16000000T", "--maxbytes"},
      {"sweep all_reduce --mode fast", "streamed"},
      {"sweep all_reduce --count 4 -b 64", "--count"},
      {"sweep broadcast -o max", "--op"},
      {"sweep all_reduce -r 0", "--root"},
      {"sweep all_reduce --format json", "nccl-tests"},
      {"sweep all --format nccl-tests", "--format"},
      {"sweep all_reduce --local 2 --local-processes 2", "--local"},
      {"sweep all_reduce --no-such-option", "--no-such-option"},
      {"sweep", "collectives"},
  };
  for (const auto& [command, named] : cases) {
    const Outcome outcome = RunProgram(command);
    EXPECT_EQ(outcome.exit_code, 2) << command << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(named)) << command;
    EXPECT_EQ(CountLines(outcome.err), 1U) << command << ": " << outcome.err;
  }
}

TEST(SweepProgramTest, OneRankGivesBackItsInputForEveryOperator) {
  const ScratchFolder folder;
  for (const char* count : {"1", "31", "32", "33", "1003"}) {
    const Outcome outcome = RunProgram(
        std::string(
            "sweep all_reduce reduce_scatter --local 1 -o all -d bf16 --place both -n 1 --count ") +
        count + " --out " + folder.Path(count));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const SweepRow& row : ReadSweep(folder.Path(count))) {
      EXPECT_FALSE(row.busbw_GBps.has_value());
    }
  }
}

TEST(SweepProgramTest, MoreMemoryThanThereIsEndsWithExitThreeAndBothNumbers) {
  const Outcome outcome = RunProgram("sweep all_reduce --local 2 -b 1T -e 1T");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("available"));
  EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
}

TEST(SweepProgramTest, StreamedCallsRotateOverBuffersAndAreRight) {
  const ScratchFolder folder;
  const Outcome outcome =
      RunProgram("sweep all_reduce all_gather --local 2 --mode streamed -b 4K -e 4K -n 2 --out " +
                 folder.Path("d"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const SweepRow& row : ReadSweep(folder.Path("d"))) {
    EXPECT_EQ(row.mode, "streamed");
  }
}

TEST(SweepMpiTest, MpiStandsBesideUsUnderALauncherOnEqualPages) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const ScratchFolder folder;
  const Outcome outcome = testing::RunUnderMpi(
      2, "sweep all --place both -b 64 -e 16K -f 256 -n 3 --out " + folder.Path("e"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<Collective> with_mpi;
  std::set<std::int64_t> pages;
  for (const SweepRow& row : ReadSweep(folder.Path("e"))) {
    EXPECT_TRUE(row.status == Status::kOk || row.status == Status::kSkipped) << row.reason;
    if (row.implementation == "mpi" && row.status == Status::kOk) with_mpi.insert(row.collective);
    if (row.page_kib) pages.insert(*row.page_kib);
  }
  EXPECT_EQ(with_mpi.size(), std::size(kAllCollectives));
  EXPECT_EQ(pages.size(), 1U);
}

}  // namespace
}  // namespace hockney
