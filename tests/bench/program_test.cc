// Runs the built program as a user does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Outcome;
using testing::RunShell;
using ::testing::StartsWith;

Outcome RunHockney(const std::string& arguments) { return testing::RunProgram(arguments); }

auto IsOneLine() { return MatchesRegex("[^\n]+\n"); }

TEST(ProgramTest, PrintsItsVersion) {
  const Outcome run = RunHockney("--version");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, MatchesRegex("hockney [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(run.err, "");
}

TEST(ProgramTest, HelpListsSubCommands) {
  const Outcome run = RunHockney("--help");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("info"), HasSubstr("list")));
}

TEST(ProgramTest, HelpOfASubCommandShowsDefaultsAndAnExample) {
  const Outcome run = RunHockney("info --help");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("--timeout SECONDS=60"), HasSubstr("Example: ")));
}

TEST(ListTest, ShowsEveryPart) {
  const Outcome run = RunHockney("list");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("all_to_all_v"), HasSubstr("double_binary_tree"),
                             HasSubstr("float8_e4m3"), HasSubstr("avg"), HasSubstr("nccl")));
}

TEST(ListTest, ShowsOnePart) {
  const Outcome run = RunHockney("list types");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("bfloat16"), Not(HasSubstr("ring"))));
}

TEST(ListTest, ClustersArePresetsWithTheirSources) {
  const Outcome run = RunHockney("list --clusters");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\nh100 "), HasSubstr("\ntcp-10g ")));
  EXPECT_EQ(RunHockney("list clusters").out, run.out);
  EXPECT_THAT(RunHockney("list clusters --json").out,
              HasSubstr("\"source\": \"perftest between two hosts, 400 Gb/s NIC: 392 Gb/s\""));
}

TEST(ListTest, JsonHoldsTheSame) {
  const Outcome run = RunHockney("list --json");
  EXPECT_EQ(run.exit_code, 0);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("types").size(), 12);
  EXPECT_EQ(json.at("ops").size(), 5);
  EXPECT_EQ(json.at("collectives").size(), 11);
  EXPECT_EQ(json.at("algorithms").at(0).at("algorithm"), "ring");
}

TEST(InfoTest, ShowsLocalRanks) {
  const Outcome run = RunHockney("info --local 2");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("ranks 2: threads on 1 host"), HasSubstr("memlock"),
                             HasSubstr("not applicable: ranks are threads")));
  EXPECT_EQ(run.err, "");
}

TEST(InfoTest, JsonHoldsHostsAndRanks) {
  const Outcome run = RunHockney("info --local 3 --json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("rank_count"), 3);
  EXPECT_EQ(json.at("rank_source"), "--local");
  ASSERT_EQ(json.at("hosts").size(), 1);
  EXPECT_TRUE(json.at("hosts").at(0).contains("memlock_limit_bytes"));
  EXPECT_GT(json.at("hosts").at(0).at("measured").at("copy_cached").at("GBps_median"), 0.0);
  ASSERT_EQ(json.at("ranks").size(), 3);
  EXPECT_EQ(json.at("ranks").at(2).at("rank"), 2);
}

TEST(InfoTest, RecordsNoOtherEnvironment) {
  const Outcome run = RunShell(
      "SECRET_TOKEN=x UCX_TLS=tcp SLURM_JWT=y MPIR_CVAR_NOLOCAL=0 "
      "MPIR_CVAR_CH3_INTERFACE_HOSTNAME=z $HOCKNEY info --local 1 --json");
  const auto environment = nlohmann::json::parse(run.out).at("environment");
  EXPECT_EQ(environment.at("UCX_TLS"), "tcp");
  EXPECT_FALSE(environment.contains("SECRET_TOKEN"));
  EXPECT_FALSE(environment.contains("SLURM_JWT"));
  EXPECT_EQ(environment.at("MPIR_CVAR_NOLOCAL"), "0");
  EXPECT_FALSE(environment.contains("MPIR_CVAR_CH3_INTERFACE_HOSTNAME")) << "mpiexec sets it";
}

TEST(InfoTest, ReportsTheLimitInsideTheJob) {
  const Outcome run = RunShell("ulimit -n 99; $HOCKNEY info --local 1 --json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out).at("ranks").at(0).at("nofile_limit"), 99);
}

TEST(LaunchTest, SaysThatThereIsNoLauncher) {
  const Outcome run = RunHockney("info");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, AllOf(IsOneLine(), StartsWith("hockney: no launcher: running ")));
}

TEST(LaunchTest, WorldOfOneRankUnderALauncherOfManyIsRefused) {
  for (const std::string launcher :
       {"OMPI_COMM_WORLD_SIZE=4", "PMI_SIZE=4 PMI_RANK=1", "SLURM_NTASKS=4 SLURM_PROCID=3"}) {
    const Outcome run = RunShell(launcher + " $HOCKNEY info");
    EXPECT_EQ(run.exit_code, 3) << launcher << run.err;
    EXPECT_THAT(run.err, AllOf(IsOneLine(), HasSubstr("started 4 processes"),
                               HasSubstr("connects only 1"), HasSubstr("mpirun")));
    EXPECT_EQ(run.out, "");
  }
}

TEST(LaunchTest, ManyWorldsOfOneRankSayItOnce) {
  const Outcome run = RunShell(
      "export PMI_SIZE=3; for i in 0 1 2; do PMI_RANK=$i $HOCKNEY info & done; wait; true");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, AllOf(IsOneLine(), HasSubstr("started 3 processes")));
}

TEST(LaunchTest, BatchAllocationIsNoLauncher) {
  const Outcome run = RunShell("SLURM_NTASKS=4 SLURM_PROCID=0 $HOCKNEY info --expect-ranks 4000");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("--expect-ranks: 4000 expected"));
}

TEST(LaunchTest, UnexpectedNumberOfRanksIsRefused) {
  const Outcome run = RunHockney("info --local 2 --expect-ranks 3");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, AllOf(IsOneLine(), HasSubstr("3 expected"), HasSubstr("has 2")));
}

TEST(LaunchTest, LocalRanksInOneOfManyProcessesAreRefusedByTheFirst) {
  const std::string words = "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=";
  const Outcome first = RunShell(words + "0 $HOCKNEY info --local 2");
  EXPECT_EQ(first.exit_code, 2);
  EXPECT_THAT(first.err, AllOf(IsOneLine(), StartsWith("hockney info: --local: \"2\": expected ")));
  const Outcome other = RunShell(words + "1 $HOCKNEY info --local 2");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.err, "");
}

struct BadLine {
  const char* arguments;
  const char* named;
  const char* suggested;
};

class BadLineTest : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadLineTest, ExitsWithTwoAndOneLineThatNamesIt) {
  const Outcome run = RunHockney(GetParam().arguments);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, AllOf(IsOneLine(), StartsWith("hockney"), HasSubstr(GetParam().named),
                             HasSubstr(GetParam().suggested)));
}

INSTANTIATE_TEST_SUITE_P(
    Program, BadLineTest,
    ::testing::Values(BadLine{"", "sub-command is missing", "--help"},
                      BadLine{"lst", "\"lst\"", "\"list\""},
                      BadLine{"frobnicate -b 8", "\"frobnicate\"", "hockney --help"},
                      BadLine{"--versoin", "\"--versoin\"", "\"--version\""},
                      BadLine{"-z", "\"-z\": unknown option; ", "hockney --help"},
                      BadLine{"info list", "\"list\"", "hockney info --help"},
                      BadLine{"list --json=7", "--json: \"7\"", "expected no value"},
                      BadLine{"sweep --mibytes 8", "\"--mibytes\"", "\"--minbytes\""},
                      BadLine{"list --jsn", "\"--jsn\"", "\"--json\""},
                      BadLine{"info --lokal=2", "\"--lokal=2\"", "\"--local\""},
                      BadLine{"info stray", "\"stray\"", "hockney info --help"},
                      BadLine{"list algoritms", "\"algoritms\"", "\"algorithms\""},
                      BadLine{"info --local", "--local", "--local"},
                      BadLine{"info --local 0", "--local: \"0\"", "expected"},
                      BadLine{"info --local 2 --local 3", "--local", "--local"},
                      BadLine{"info -T 12Q", "--timeout (-T): \"12Q\"", "expected"}));

TEST(ProgramTest, FullDiskBehindStandardOutputIsAnError) {
  const Outcome run = RunShell("$HOCKNEY list > /dev/full");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, AllOf(IsOneLine(), HasSubstr("No space left")));
}

// Under mpirun. Its exit code is that of the first rank that failed.
class MpirunTest : public ::testing::Test {
 protected:
  Outcome Run(const std::string& arguments) { return testing::RunUnderMpi(2, arguments); }
  bool HasMpirun() { return RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed"); }
};

TEST_F(MpirunTest, InfoShowsProcesses) {
  if (!HasMpirun()) return;
  const Outcome run = Run("info --json --expect-ranks 2");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("rank_kind"), "processes");
  EXPECT_EQ(json.at("rank_source"), "launcher");
  EXPECT_NE(json.at("ranks").at(0).at("pid"), json.at("ranks").at(1).at("pid"));
  const std::string attach = json.at("hosts").at(0).at("measured").at("cross_memory_attach");
  EXPECT_THAT(attach, MatchesRegex("allowed|denied: .*"));
}

TEST_F(MpirunTest, OneRankPrintsABadOption) {
  if (!HasMpirun()) return;
  const Outcome run = Run("list --jsn");
  EXPECT_EQ(run.exit_code, 2);
  const std::size_t first = run.err.find("\"--jsn\"");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(run.err.find("\"--jsn\"", first + 1), std::string::npos);
}

TEST_F(MpirunTest, OneRankPrintsAnUnexpectedNumberOfRanks) {
  if (!HasMpirun()) return;
  const Outcome run = Run("info --expect-ranks 3");
  EXPECT_EQ(run.exit_code, 3);
  const std::size_t first = run.err.find("3 expected");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(run.err.find("3 expected", first + 1), std::string::npos);
}

}  // namespace
}  // namespace hockney
