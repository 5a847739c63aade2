// Runs `hockney links` as a user does and reads what it leaves behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/model/model.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunProgram;
using testing::RunUnderMpi;
using testing::ScratchFolder;

bool HasFile(const ScratchFolder& folder, const char* name) {
  return std::filesystem::exists(folder.Path("run") + "/" + name);
}

void ExpectAllKernels(const std::string& run) {
  std::set<std::string> sums;
  for (const KernelRow& row : ReadKernels(run)) {
    EXPECT_GT(row.time_us_median, 0);
    if (row.kernel == "sum") sums.insert(std::string(Name(row.dtype.value())));
  }
  EXPECT_EQ(sums.size(), kAllDataTypes.size());
}

TEST(LinksProgramTest, KernelsAloneNeedNoSecondRankAndAreFitted) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome = RunProgram("links --local 1 --kernels only --out " + run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("sum bfloat16"), HasSubstr("run folder: " + run)));
  EXPECT_FALSE(HasFile(folder, "links.csv"));
  ExpectAllKernels(run);
  const Outcome fit = RunProgram("fit " + run);
  ASSERT_EQ(fit.exit_code, 0) << fit.err;
  EXPECT_THAT(fit.out, HasSubstr("kernels of one rank"));
  const Model model = ReadModel(run + "/model.json");
  EXPECT_EQ(model.kernels.size() % (2 * (1 + kAllDataTypes.size())), 0U);
  for (const KernelModel& each : model.kernels) {
    EXPECT_GT(each.seconds_per_byte.value().value, 0);
    EXPECT_EQ(each.gamma_seconds_per_byte.has_value(), each.kernel == "sum");
    EXPECT_EQ(each.node_ranks, 1);
  }
}

TEST(LinksProgramTest, ProcessesMeasureLinksAndKernels) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome = RunProgram("links --local-processes 2 -e 8K --budget 5ms --out " + run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(HasFile(folder, "links.csv"));
  ExpectAllKernels(run);
}

TEST(LinksProgramTest, RanksOfALauncherMeasureKernels) {
  if (!RequireOrSkip("mpirun", testing::HasMpirun(), "no mpirun")) return;
  const ScratchFolder folder;
  const Outcome outcome = RunUnderMpi(2, "links --kernels only --out " + folder.Path("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectAllKernels(folder.Path("run"));
}

TEST(LinksProgramTest, KernelsCanBeLeftOut) {
  const ScratchFolder folder;
  const Outcome outcome =
      RunProgram("links --local 2 -e 8K --budget 5ms --kernels none --out " + folder.Path("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(HasFile(folder, "links.csv"));
  EXPECT_FALSE(HasFile(folder, "kernels.csv"));
}

TEST(LinksProgramTest, BadOptionsAreRefused) {
  const Outcome word = RunProgram("links --local 2 --kernels all");
  EXPECT_EQ(word.exit_code, 2);
  EXPECT_THAT(word.err, HasSubstr("--kernels: \"all\": expected one of none with only"));
  const Outcome one = RunProgram("links --local 1");
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_THAT(one.err, HasSubstr("1 rank, expected at least 2"));
}

}  // namespace
}  // namespace hockney
