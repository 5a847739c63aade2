// What happens when ranks die, stop, differ or run out of something: how every process ends, what
// is said, and what is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/launch.h"
#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "topology/check.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::CountLines;
using ::testing::HasSubstr;
using testing::MpirunWords;
using ::testing::Not;
using testing::Outcome;
using testing::RunShell;
using testing::ScratchFolder;

// A sweep that takes minutes, if nothing happens to it.
constexpr char kLongSweep[] =
    " sweep all_reduce -b 8 -e 16M --row-budget 2s --progress never --out ";

std::string Quiet(const std::string& words) { return words + " >/dev/null"; }

// Starts `command` in the background, waits until `run` has a row, runs `then`, and returns how the
// command ended. $1, $2, ... are the processes of the ranks, $JOB what was started.
Outcome RunAndDisturb(const std::string& command, const std::string& run, const std::string& then) {
  const std::string path = run + ".script";
  std::ofstream(path) << command << " &\nJOB=$!\n"
                      << "for i in $(seq 300); do\n  [ $(grep -c , " << run
                      << "/sweep.csv 2>/dev/null || echo 0) -gt 1 ] && break\n  sleep 0.1\ndone\n"
                      << "set -- $(sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p' " << run
                      << "/run.json)\n"
                      << then << "\nwait $JOB\n";
  return RunShell("bash " + path);
}

bool AnyLeft(const std::string& mark) {
  // The brackets keep the pattern from finding the shell it stands in.
  return RunShell("pgrep -f '[s]weep.*" + mark + "' >/dev/null").exit_code == 0;
}

class KilledRankTest : public ::testing::TestWithParam<int> {};

TEST_P(KilledRankTest, OthersEndWithFourAndNameIt) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const int rank = GetParam();
  const Outcome outcome =
      RunAndDisturb(Quiet("$HOCKNEY" + std::string(kLongSweep) + run + " --local-processes 3"), run,
                    "kill -9 ${" + std::to_string(rank + 1) + "}");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("lost rank " + std::to_string(rank) + " on "));
  EXPECT_THAT(outcome.err, HasSubstr("it ended without a word, during "));
  const auto json = ReadRun(run);
  EXPECT_EQ(json["outcome"], "lost_rank");
  EXPECT_EQ(json["exit_code"], 4);
  EXPECT_EQ(json["lost_rank"], rank);
  EXPECT_FALSE(ReadSweep(run).empty());
  EXPECT_FALSE(AnyLeft(run));
}
INSTANTIATE_TEST_SUITE_P(EachRank, KilledRankTest, ::testing::Values(0, 1, 2));

// Ranks whose data is moved by blocks of a device, here threads of this CPU.
TEST(FaultsTest, ALostRankEndsTheOthersOnTheirDevices) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome = RunAndDisturb(
      Quiet(HOCKNEY_ON_THREADS
            " sweep all_reduce --memory cuda --peer-memory fd -b 8 -e 16M --row-budget 200ms -G 0 "
            "--progress never --local-processes 3 --out " +
            run),
      run, "kill -9 $2");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("lost rank 1 on "));
  EXPECT_FALSE(AnyLeft(run));
}

// Writes each rank's exit code to a file; the launcher makes its own code of them.
std::string RecordingCodes(const std::string& folder) {
  std::ofstream script(folder + "/wrap");
  script << "trap : TERM\n\"$@\"\ncode=$?\necho $code >" << folder
         << "/code.$OMPI_COMM_WORLD_RANK\nexit $code\n";
  return "bash " + folder + "/wrap ";
}

int ReadCode(const std::string& folder, int rank) {
  std::ifstream file(folder + "/code." + std::to_string(rank));
  int code = -1;
  file >> code;
  return code;
}

TEST(FaultsMpiTest, EachSurvivorOfAKilledRankEndsWithFour) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome = RunAndDisturb(
      Quiet(MpirunWords(3) + RecordingCodes(folder.Path("")) + "$HOCKNEY" + kLongSweep + run), run,
      "kill -9 $2");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(ReadCode(folder.Path(""), 0), 4);
  EXPECT_EQ(ReadCode(folder.Path(""), 1), 137);
  EXPECT_EQ(ReadCode(folder.Path(""), 2), 4);
  EXPECT_THAT(outcome.err, HasSubstr("lost rank 1 on "));
  EXPECT_EQ(ReadRun(run)["lost_rank"], 1);
  EXPECT_FALSE(AnyLeft(run));
}

TEST(FaultsMpiTest, AStopInABlockingMpiCallEndsAtTheDeadline) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome =
      RunAndDisturb(Quiet(MpirunWords(2) + RecordingCodes(folder.Path("")) +
                          "$HOCKNEY sweep all_reduce -b 8 -e 8M -f 1048576 -T 3 -n 3000 -w 1 "
                          "--implementation mpi --out " +
                          run),
                    run, "sleep 0.5; kill -STOP $2; sleep 8; kill -CONT $2");
  EXPECT_EQ(ReadCode(folder.Path(""), 0), 4);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 is stopped"));
  EXPECT_EQ(ReadRun(run)["outcome"], "timeout");
  EXPECT_EQ(ReadRun(run)["lost_rank"], 1);
  EXPECT_FALSE(AnyLeft(run));
}

TEST(FaultsMpiTest, RanksWithUnlikeOptionsAreRefusedByName) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const std::string three = "$HOCKNEY sweep all_reduce --count 409600 : -n 2 $HOCKNEY sweep ";
  const std::pair<const char*, const char*> cases[] = {
      {"all_reduce --count 409598", "\"--count 409600\" instead of \"--count 409598\""},
      {"all_reduce --count 409600 -d int8", "nothing there instead of \"-d"},
      {"broadcast --count 409600", "\"all_reduce\" instead of \"broadcast\""},
      {"all_reduce --count 4x", "--count: \"4x\": expected"},
  };
  for (const auto& [other, difference] : cases) {
    const ScratchFolder folder;
    const std::string words = MpirunWords(1) + three + other;
    const Outcome outcome = RunShell(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(difference));
    if (std::string(other).find("4x") == std::string::npos) {
      EXPECT_THAT(outcome.err, HasSubstr("rank 0 was started with other options than rank 1"));
    }
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = outcome.err.find("hockney sweep:", at)) != std::string::npos;
         ++at) {
      ++lines;
    }
    EXPECT_EQ(lines, 1U) << outcome.err;
  }
}

TEST(FaultsMpiTest, AProcessThatNeverStartsMpiEndsTheOthersAtTheDeadline) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not on the path")) return;
  const Outcome outcome =
      RunShell(MpirunWords(1) + "$HOCKNEY sweep all_reduce -b 8 -e 8 -T 2 : -n 1 /bin/true");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("rank 0 waited 2 s in the start of MPI"));
}

TEST(FaultsTest, AReaderThatGoesAwayIsAFailureThatIsRecorded) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome = RunShell(
      "bash -c 'set -o pipefail; $HOCKNEY sweep all_reduce -b 8 -e 64K -f 2 --local-processes 2 "
      "--row-budget 20ms --out " +
      run + " | head -1 >/dev/null'");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("Broken pipe"));
  EXPECT_EQ(ReadRun(run)["outcome"], "failed");
}

TEST(FaultsTest, AStoppedRankEndsTheRunAtTheDeadline) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome =
      RunAndDisturb(Quiet("$HOCKNEY" + std::string(kLongSweep) + run + " --local-processes 3 -T 3"),
                    run, "kill -STOP $2");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 is stopped"));
  EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
  const auto json = ReadRun(run);
  EXPECT_EQ(json["outcome"], "timeout");
  EXPECT_EQ(json["lost_rank"], 1);
  EXPECT_THAT(json["waiting_for"].get<std::string>(), HasSubstr("rank 0 waited 3 s in "));
  EXPECT_FALSE(AnyLeft(run));
}

TEST(FaultsTest, AStopShorterThanTheDeadlineIsSurvived) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const Outcome outcome = RunAndDisturb(
      Quiet("$HOCKNEY sweep all_reduce -b 8 -e 64 -f 8 --algorithm ring --row-budget 300ms "
            "--local-processes 2 -T 20 --out " +
            run),
      run, "kill -STOP $2; sleep 1; kill -CONT $2");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(ReadRun(run)["outcome"], "finished");
}

TEST(FaultsTest, ASignalKeepsWhatWasMeasured) {
  for (const char* signal : {"TERM", "INT"}) {
    for (const char* ranks : {" --local 2", " --local-processes 2"}) {
      const ScratchFolder folder;
      const std::string run = folder.Path("run");
      // $JOB is the process that was started: with --local-processes it has no rank itself. A shell
      // without job control starts it with SIGINT ignored.
      const Outcome outcome =
          RunAndDisturb("set -m; " + Quiet("$HOCKNEY" + std::string(kLongSweep) + run + ranks), run,
                        std::string("kill -") + signal + " $JOB");
      EXPECT_EQ(outcome.exit_code, 7) << signal << ranks << outcome.err;
      EXPECT_EQ(ReadRun(run)["outcome"], "interrupted");
      EXPECT_EQ(ReadRun(run)["exit_code"], 7);
      EXPECT_FALSE(ReadSweep(run).empty());
    }
  }
}

TEST(FaultsTest, AFullDiskEndsWithThreeAndKeepsFilesThatAgree) {
  const ScratchFolder folder;
  const bool can = RunShell("unshare -m true 2>/dev/null").exit_code == 0;
  if (!RequireOrSkip("netns", can, "no right to mount")) return;
  const std::string run = folder.Path("full/run");
  const Outcome outcome = RunShell(
      "mkdir " + folder.Path("full") + "; unshare -m sh -c 'mount -t tmpfs -o size=24k tmpfs " +
      folder.Path("full") + " && " +
      Quiet("$HOCKNEY sweep all_reduce --local-processes 2 -b 8 -e 1K -n 100 --out " + run) +
      "; code=$?; cp -r " + run + " " + folder.Path("kept") + "; exit $code'");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("No space left"), HasSubstr(".csv")));
  EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
  // Every row that was kept has all its samples.
  const auto rows = ReadSweep(folder.Path("kept"));
  std::size_t samples = 0;
  for (const SweepRow& row : rows) samples += row.samples;
  EXPECT_FALSE(rows.empty());
  EXPECT_EQ(ReadSamples(folder.Path("kept")).size(), samples);
}

TEST(FaultsTest, AControlGroupThatIsTooSmallIsNamedWithBothNumbers) {
  const std::string group = "/sys/fs/cgroup/memory/hockney_test_" + std::to_string(getpid());
  const bool can =
      RunShell("mkdir " + group + " 2>/dev/null && echo 768M >" + group + "/memory.limit_in_bytes")
          .exit_code == 0;
  if (!can) GTEST_SKIP() << "no right to make a control group";
  const Outcome outcome =
      RunShell("sh -c 'echo $$ >" + group +
               "/cgroup.procs; exec $HOCKNEY sweep all_reduce --local-processes "
               "2 -b 512M -e 512M'");
  RunShell("rmdir " + group);
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("bytes of shared memory needed"), HasSubstr("available"),
                                 HasSubstr("memory")));
  EXPECT_THAT(outcome.err, Not(HasSubstr("host memory")));
}

// Runs `body` as --local-processes ranks and returns the exit code of the program.
int RunLocally(int ranks, const std::function<int(Session&)>& body) {
  const pid_t program = fork();
  if (program == 0) {
    char name[] = "hockney";
    char command[] = "test";
    char* arguments[] = {name, command};
    Launch launch(2, arguments);
    RankOptions options;
    options.local_processes = ranks;
    options.timeout_seconds = 20;
    int code = 99;
    try {
      code = launch.RunRanks(options, body);
    } catch (...) {
      code = ToInt(CurrentFailure().code);
    }
    _exit(code);
  }
  int status = 0;
  waitpid(program, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(FaultsTest, ARankThatLeavesEarlyIsALoss) {
  EXPECT_EQ(RunLocally(3,
                       [](Session& session) {
                         if (session.rank() == 1) _exit(0);
                         session.Barrier();
                         return 0;
                       }),
            4);
}

TEST(FaultsTest, TheCodeOfARankThatFailsAloneIsTheOthers) {
  EXPECT_EQ(RunLocally(3,
                       [](Session& session) {
                         if (session.rank() == 2) throw EnvironmentError("disk full");
                         session.Barrier();
                         return 0;
                       }),
            3);
}

TEST(FaultsTest, RanksThatEndInGoodOrderLoseNobody) {
  EXPECT_EQ(RunLocally(3,
                       [](Session& session) {
                         if (session.rank() == 0) usleep(300'000);
                         return 0;
                       }),
            0);
}

}  // namespace
}  // namespace hockney
