// --launches, --append and what is reported of several launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/launches.h"
#include "bench/series_report.h"
#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunProgram;
using testing::ScratchFolder;

constexpr char kShort[] = "sweep all_reduce -b 8 -e 8 -n 3 --algorithm ring,two_shot ";

TEST(LaunchesTest, EachAddsALaunchWithASeedOfItsOwn) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome =
      RunProgram(std::string(kShort) + "--local 2 --launches 3 --seed 7 --out " + run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::int64_t> launches;
  for (const SweepRow& row : ReadSweep(run)) launches.insert(row.launch);
  EXPECT_THAT(launches, ElementsAre(0, 1, 2));
  std::ifstream file(run + "/run.json");
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(json["launches"].size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(json["launches"][i]["seed"], 7 + i);
    EXPECT_EQ(json["launches"][i]["outcome"], "finished");
  }
  EXPECT_THAT(outcome.out, HasSubstr("over launches: choice made on launches 1, 3, 5"));
  EXPECT_THAT(outcome.out, HasSubstr("no claim; at least 5 needed"));
}

TEST(LaunchesTest, ALauncherStartsEach) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const ScratchFolder folder;
  // As root Open MPI wants to be told twice: the words before mpirun become the environment.
  const std::string words = testing::MpirunWords(2);
  const std::string environment = words.substr(0, words.find("mpirun"));
  const Outcome outcome = testing::RunShell(
      environment + "$HOCKNEY " + kShort +
      "--launches 2 --launcher 'mpirun --oversubscribe -n 2' --out " + folder.Path("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const SweepRow& row : ReadSweep(folder.Path("run"))) EXPECT_EQ(row.ranks, 2);
  EXPECT_THAT(outcome.out, HasSubstr("x "));
}

TEST(LaunchesTest, TheFirstThatFailsEndsTheSeries) {
  const ScratchFolder folder;
  const Outcome outcome = RunProgram(
      std::string(kShort) + "--local 2 --expect-ranks 3 --launches 4 --out " + folder.Path("run"));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("launch 1 of 4 ended with exit code 3"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("launch 2 of 4")));
}

TEST(LaunchesTest, BadUseNamesTheOption) {
  const ScratchFolder folder;
  const std::pair<std::string, std::string> cases[] = {
      {"--launches 0", "--launches"},
      {"--launches x", "--launches"},
      {"--launcher 'mpirun -n 2'", "--launcher"},
      {"--launches 2 --out " + folder.Path(""), "--out"},
  };
  for (const auto& [options, named] : cases) {
    const Outcome outcome = RunProgram(std::string(kShort) + "--local 2 " + options);
    EXPECT_EQ(outcome.exit_code, 2) << options << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(named)) << options;
  }
}

TEST(AppendTest, LaunchesThatCannotBeComparedAreRefused) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  ASSERT_EQ(RunProgram(std::string(kShort) + "--local 2 --out " + run).exit_code, 0);
  const Outcome outcome = RunProgram(std::string(kShort) + "--local 3 --append --out " + run);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rank_count = 2"), HasSubstr("has 3")));
}

TEST(WithoutOptionsTest, TakesOutOptionsInBothForms) {
  EXPECT_THAT(WithoutOptions({"hockney", "sweep", "--out", "x", "-b", "8", "--seed=3", "--append",
                              "--outer", "y"},
                             {"--out", "--seed"}, {"--append"}),
              ElementsAre("hockney", "sweep", "-b", "8", "--outer", "y"));
}

SweepRow MakeRow(std::int64_t launch, const std::string& algorithm, double time_us) {
  SweepRow row;
  row.launch = launch;
  row.implementation = algorithm == "mpi" ? "mpi" : "hockney";
  row.algorithm = algorithm;
  row.protocol = "simple";
  row.mode = "isolated";
  row.buffers = "refreshed";
  row.dtype = DataType::kFloat32;
  row.ranks = 2;
  row.size_bytes = 1024;
  row.time_us_median = time_us;
  return row;
}

TEST(SeriesReportTest, ChoosesOnOneHalfAndReportsTheOther) {
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 10; ++launch) {
    // The ring is fast in the launches that choose and slow in those that are reported.
    rows.push_back(MakeRow(launch, "ring", launch % 2 == 0 ? 1 : 8));
    rows.push_back(MakeRow(launch, "two_shot", 2));
    rows.push_back(MakeRow(launch, "mpi", 4));
  }
  const std::string report = SeriesReport(rows);
  EXPECT_THAT(report, AllOf(HasSubstr("ring"), HasSubstr("8.00"), HasSubstr("0.50x (0.50..0.50)")));
  EXPECT_THAT(report, Not(HasSubstr("no claim")));
}

TEST(SeriesReportTest, OneLaunchClaimsNothing) {
  EXPECT_THAT(SeriesReport(std::vector<SweepRow>{MakeRow(0, "ring", 1)}), HasSubstr("no claim"));
}

}  // namespace
}  // namespace hockney
