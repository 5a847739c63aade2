// The links with nccl-tests' names, run as its users and wrappers do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunShell;
using testing::ScratchFolder;

// Runs the program under the name of nccl-tests' one, before which `launcher` may stand.
Outcome RunLink(const ScratchFolder& folder, const std::string& name, const std::string& options,
                const std::string& launcher = "") {
  const std::string link = folder.Path(name);
  return RunShell("ln -sf $HOCKNEY " + link + "; cd " + folder.Path("") + "; " + launcher + " " +
                  link + " " + options);
}

// The rows of the table, each a list of words.
std::vector<std::vector<std::string>> RowsOf(const std::string& table) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    if (!row.empty() && row[0][0] != '#') rows.push_back(row);
  }
  return rows;
}

nlohmann::json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

TEST(NcclTestsProgramTest, ALauncherGetsTheTableThatItsWrapperExpects) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const ScratchFolder folder;
  const Outcome outcome =
      RunLink(folder, "all_reduce_perf", "-b 8 -e 1M -f 2 -g 1", testing::MpirunWords(2));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = RowsOf(outcome.out);
  ASSERT_EQ(rows.size(), 18U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), 13U);
    EXPECT_EQ(rows[i][0], std::to_string(8U << i));
    EXPECT_EQ(rows[i][1], std::to_string(2U << i));
    EXPECT_EQ(rows[i][8], "0");
    EXPECT_EQ(rows[i][12], "0");
  }
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("#  Rank  0 Group  0 Pid "), HasSubstr("#  Rank  1 "),
                                 HasSubstr("# Out of bounds values : 0 OK"),
                                 HasSubstr("# Avg bus bandwidth    : ")));
  EXPECT_FALSE(std::filesystem::exists(folder.Path("hockney-runs"))) << "nobody asked for a folder";
}

TEST(NcclTestsProgramTest, EveryLinkMeasuresItsCollectiveRight) {
  const ScratchFolder folder;
  for (const char* name :
       {"all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "alltoall_perf",
        "broadcast_perf", "reduce_perf", "sendrecv_perf", "gather_perf", "scatter_perf"}) {
    const Outcome outcome = RunLink(folder, name, "-b 64 -e 1K -f 4 -g 3 -n 4 -d half");
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
    const auto rows = RowsOf(outcome.out);
    ASSERT_EQ(rows.size(), 3U) << name;
    for (const auto& row : rows) EXPECT_EQ(row[8], "0") << name;
    EXPECT_THAT(outcome.out, HasSubstr(std::string("Collective test starting: ") + name));
  }
}

TEST(NcclTestsProgramTest, TimeIsTheMeanOfTheCalls) {
  const ScratchFolder folder;
  const Outcome outcome =
      RunLink(folder, "all_reduce_perf", "-b 4K -e 4K -g 2 -n 24 -I 1 -J times.json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto row = ReadJson(folder.Path("times.json"))["results"][0];
  for (const std::string side : {"out_of_place", "in_place"}) {
    const auto calls = row[side + "_per_iter"]["times_us"].get<std::vector<double>>();
    ASSERT_EQ(calls.size(), 24U);
    const double sum = std::accumulate(calls.begin(), calls.end(), 0.0);
    const double time = row[side]["time"];
    // A rank's time is at most the sum of the slowest rank's, and as long as any of its calls.
    EXPECT_LE(24 * time, sum * 1.0001);
    EXPECT_GE(24 * time, *std::max_element(calls.begin(), calls.end()) / 2);
  }
}

TEST(NcclTestsProgramTest, TheJsonIsWholeAndHoldsNoSecrets) {
  const ScratchFolder folder;
  const Outcome outcome = RunLink(folder, "broadcast_perf", "-b 8 -e 64 -f 2 -g 2 -J a.json -r 1",
                                  "SECRET_TOKEN=abc NCCL_ALGO=ring");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = ReadJson(folder.Path("a.json"));
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["results"].size(), 4U);
  EXPECT_EQ(json["config"]["devices"].size(), 2U);
  EXPECT_THAT(json.dump(), ::testing::Not(HasSubstr("SECRET_TOKEN")));
  EXPECT_THAT(json["env"].dump(), HasSubstr("NCCL_ALGO"));
}

TEST(NcclTestsProgramTest, BadOptionsEndWithItsCodesAndOneLine) {
  const ScratchFolder folder;
  struct Case {
    const char* options;
    int code;
    const char* named;
  };
  const Case cases[] = {
      {"-b 12Q", 255, "--minbytes (-b)"},
      {"-b 2M -e 1M", 255, "--maxbytes (-e)"},
      {"--nosuch", 6, "--nosuch"},
      {"-G 1", 6, "--cudagraph (-G)"},
      {"-p 1", 6, "--parallel_init (-p)"},
      {"-o mulsum", 6, "mulsum"},
      {"-d float33", 6, "float33"},
      {"-R 2", 6, "--local_register (-R)"},
      {"-f 2 -i 8", 6, "--stepfactor (-f)"},
      {"-r 5 -g 2 -b 8 -e 8", 6, "--root (-r)"},
      {"--local-processes 2 -t 2", 6, "--local-processes"},
      {"extra", 6, "extra"},
      {"-K 1", 6, "--per_iter_skip (-K)"},
  };
  for (const auto& [options, code, named] : cases) {
    const Outcome outcome = RunLink(folder, "broadcast_perf", options);
    EXPECT_EQ(outcome.exit_code, code) << options << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(named)) << options;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_EQ(RunLink(folder, "broadcast_perf", "-b 8 -e 8", "NCCL_TESTS_SPLIT='MOD x'").exit_code,
            6);
}

TEST(NcclTestsProgramTest, RanksUnderOtherNamesAreRefused) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const ScratchFolder folder;
  const Outcome outcome = RunShell(
      "cd " + folder.Path("") + "; ln -s $HOCKNEY gather_perf; ln -s $HOCKNEY scatter_perf; " +
      testing::MpirunWords(1) + "./gather_perf -b 8 -e 8 : -n 1 ./scatter_perf -b 8 -e 8");
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("scatter by its program's name"),
                                 HasSubstr("gather by its program's name")));
}

TEST(NcclTestsProgramTest, ASignalEndsARunWithoutEndInGoodOrderAndAnyOtherAsItsVictim) {
  const ScratchFolder folder;
  const std::string interrupt = "timeout --preserve-status -s INT 2";
  const Outcome endless = RunLink(folder, "all_reduce_perf", "-g 2 -b 8 -e 64 -N 0", interrupt);
  EXPECT_EQ(endless.exit_code, 0) << endless.err;
  EXPECT_THAT(endless.out, HasSubstr("# Collective test concluded: "));
  const Outcome cut = RunLink(folder, "all_reduce_perf", "-g 2 -b 8 -e 64 -N 1000000", interrupt);
  EXPECT_EQ(cut.exit_code, 130) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("all_reduce_perf: interrupted"));
  EXPECT_THAT(cut.out, HasSubstr("error: interrupted"));
}

TEST(NcclTestsProgramTest, AnAverageBelowTheMinimumFails) {
  const ScratchFolder folder;
  const std::string options = "-b 8 -e 8 -g 2";
  const Outcome low = RunLink(folder, "all_reduce_perf", options, "NCCL_TESTS_MIN_BW=1000000");
  EXPECT_EQ(low.exit_code, 7);
  EXPECT_THAT(low.out, HasSubstr(" FAILED"));
  EXPECT_EQ(RunLink(folder, "all_reduce_perf", options, "NCCL_TESTS_MIN_BW=0").exit_code, 0);
}

TEST(NcclTestsProgramTest, ASweepPrintsTheTableAndKeepsItsFolder) {
  const ScratchFolder folder;
  const Outcome outcome = RunShell(
      "$HOCKNEY sweep all_gather --local 2 -b 64 -e 1K -f 4 -n 3 --format nccl-tests --out " +
      folder.Path("run"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(RowsOf(outcome.out).size(), 4U) << "three rows and the line of the folder";
  EXPECT_FALSE(ReadSweep(folder.Path("run")).empty());
}

}  // namespace
}  // namespace hockney
