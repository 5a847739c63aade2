// Reports about launchers, containers and limits (B42, B46, B48, B50: numbers of the project's
// collection of public cases), on one host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "bench/build.h"
#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MpirunWords;
using ::testing::Not;
using testing::Outcome;
using testing::RunProgram;
using testing::RunShell;
using testing::RunUnderMpi;
using testing::ScratchFolder;
using ::testing::StartsWith;

bool Succeeds(const std::string& words) { return RunShell(words).exit_code == 0; }

bool HasMpirun() { return RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed"); }

// The options of a short sweep into folder `name`.
std::string Short(const ScratchFolder& folder, const std::string& name, const char* size) {
  return std::string("sweep all_reduce -n 2 -w 0 -b ") + size + " -e " + size + " --out " +
         folder.Path(name);
}

// Exit code 0, and every row measured right or skipped with its reason.
void ExpectRight(const Outcome& run, const std::string& folder) {
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::size_t measured = 0;
  for (const SweepRow& row : ReadSweep(folder)) {
    if (row.status == Status::kSkipped) continue;
    EXPECT_EQ(row.status, Status::kOk) << row.algorithm << ": " << row.reason;
    EXPECT_EQ(row.errors, 0U) << row.algorithm;
    ++measured;
  }
  EXPECT_GT(measured, 5U);
}

// B42: processes of a launcher that MPI does not know of.
TEST(PublicCaseTest, B42AnotherMpisLauncherGivesNoTable) {
  if (!RequireOrSkip("mpich", Succeeds("command -v mpiexec.mpich"), "no launcher of MPICH here")) {
    return;
  }
  const ScratchFolder folder;
  const Outcome run = RunShell("mpiexec.mpich -n 4 $HOCKNEY " + Short(folder, "a", "8"));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, AllOf(HasSubstr("started 4 processes"), HasSubstr("connects only 1"),
                             HasSubstr("use the mpirun of the MPI")));
  EXPECT_FALSE(std::filesystem::exists(folder.Path("a")));
  // One process is all that one process can be.
  const Outcome one = RunShell("mpiexec.mpich -n 1 $HOCKNEY " + Short(folder, "b", "8"));
  ExpectRight(one, folder.Path("b"));
}

TEST(PublicCaseTest, B42HintsOfALauncherOfManyGiveNoTable) {
  const ScratchFolder folder;
  for (const std::string hints :
       {"SLURM_NTASKS=4 SLURM_PROCID=2", "PMI_SIZE=4 PMI_RANK=1", "OMPI_COMM_WORLD_SIZE=4",
        "SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0"}) {
    const Outcome run = RunShell(hints + " $HOCKNEY " + Short(folder, "a", "8"));
    EXPECT_EQ(run.exit_code, 3) << hints;
    EXPECT_EQ(run.out, "") << hints;
    EXPECT_THAT(run.err, AllOf(HasSubstr("connects only 1"), HasSubstr("started "))) << hints;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.Path("a")));
}

TEST(PublicCaseTest, B42OneLaunchedRankInALargerAllocationIsNoFalseAlarm) {
  if (!HasMpirun()) return;
  const ScratchFolder folder;
  const Outcome run = RunShell("export SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2; " +
                               MpirunWords(1) + "$HOCKNEY " + Short(folder, "a", "8"));
  ExpectRight(run, folder.Path("a"));
}

TEST(PublicCaseTest, B42TheHeadNamesRanksAndHostsAndExpectRanksChecksThem) {
  if (!HasMpirun()) return;
  const ScratchFolder folder;
  const Outcome run = RunUnderMpi(3, Short(folder, "a", "8") + " --expect-ranks 3");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("ranks 3, hosts 1, ranks per host 3\n"));
  const Outcome wrong = RunProgram(Short(folder, "b", "8") + " --local 3 --expect-ranks 4");
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_EQ(wrong.out, "");
  EXPECT_THAT(wrong.err, HasSubstr("--expect-ranks: 4 expected, but this run has 3"));
}

// B46: buffers lie in memory files, which /dev/shm does not hold. The parameter makes a /dev/shm of
// a mount namespace's own that is too small, cannot be written to, or is nearly full.
class SmallDevShmTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SmallDevShmTest, B46ASmallDevShmIsNoLimit) {
  const auto in_namespace = [](const std::string& words) {
    return RunShell(std::string("unshare -m sh -c '") + GetParam() + " && " + words + "'");
  };
  if (!RequireOrSkip("namespaces", in_namespace("true").exit_code == 0,
                     "no mount namespace can be made")) {
    return;
  }
  const ScratchFolder folder;
  const Outcome threads =
      in_namespace("$HOCKNEY " + Short(folder, "a", "4M") + " --local 2 --algorithm ring,two_shot");
  EXPECT_EQ(threads.exit_code, 0) << threads.err;
  if (!testing::HasMpirun()) return;
  // Open MPI's shared memory transport may give way to its TCP; the run says what it uses.
  ExpectRight(in_namespace(MpirunWords(2) + "$HOCKNEY " + Short(folder, "b", "256K")),
              folder.Path("b"));
  const std::string module = ReadRun(folder.Path("b")).at("mpi_module");
  EXPECT_THAT(module, StartsWith("pml="));
}

INSTANTIATE_TEST_SUITE_P(PublicCaseTest, SmallDevShmTest,
                         ::testing::Values("mount -t tmpfs -o size=1k none /dev/shm",
                                           "mount -t tmpfs -o ro,size=64m none /dev/shm",
                                           "mount -t tmpfs -o size=8m none /dev/shm && head -c "
                                           "7340032 /dev/zero > /dev/shm/other"),
                         [](const auto& mount) {
                           // No braces in here: the macro would take their commas apart.
                           if (mount.index == 0) return "tiny";
                           return mount.index == 1 ? "read_only" : "nearly_full";
                         });

TEST(PublicCaseTest, B46EightRanksPassLongMessagesThroughSmallSlots) {
  if (!HasMpirun()) return;
  const ScratchFolder folder;
  const Outcome run =
      RunUnderMpi(8, Short(folder, "a", "4M") +
                         " --algorithm ring,double_binary_tree --implementation hockney");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) EXPECT_EQ(row.errors, 0U) << row.reason;
}

// B48: cross-memory attach, which MPI uses and hockney does not, fails between user namespaces.
TEST(PublicCaseTest, B48RanksOfDifferentUserNamespacesAreRight) {
  if (!HasMpirun()) return;
  if (!RequireOrSkip("namespaces", Succeeds("unshare -U -r true"),
                     "no user namespace can be made")) {
    return;
  }
  const std::string apart = MpirunWords(2) + "unshare -U -r $HOCKNEY ";
  const Outcome info = RunShell(apart + "info --json");
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const auto json = nlohmann::json::parse(info.out);
  const std::string attach = json.at("hosts").at(0).at("measured").at("cross_memory_attach");
  EXPECT_THAT(attach, AllOf(StartsWith("denied: local rank 0 reading rank 1: "),
                            HasSubstr("Operation not permitted")));
  const ScratchFolder folder;
  ExpectRight(RunShell(apart + Short(folder, "a", "64K")), folder.Path("a"));
  EXPECT_NE(ReadRun(folder.Path("a")).at("mpi_single_copy"), "cma");
}

// Makes process_vm_readv and process_vm_writev fail with EPERM in this thread and what it starts,
// as the seccomp profile of container engines does. Returns whether that is possible.
bool DenyCrossMemoryAttach() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(PublicCaseTest, B48AContainerWithoutCrossMemoryAttachIsRight) {
  if (!HasMpirun()) return;
  const ScratchFolder folder;
  bool denied = false;
  Outcome info;
  Outcome run;
  std::thread([&] {
    denied = DenyCrossMemoryAttach();
    if (!denied) return;
    info = RunUnderMpi(3, "info --json");
    run = RunUnderMpi(2, Short(folder, "a", "64K"));
  }).join();
  if (!RequireOrSkip("seccomp", denied, "no system call filter can be set")) return;
  ASSERT_EQ(info.exit_code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("\"cross_memory_attach\": \"denied: local rank "));
  ExpectRight(run, folder.Path("a"));
}

// B50: limits inside the job are those that count, and are recorded.
TEST(PublicCaseTest, B50LimitsAreRecordedAndNoMemoryIsPinned) {
  const ScratchFolder folder;
  const Outcome run =
      RunShell("ulimit -l 64; ulimit -n 64; $HOCKNEY " + Short(folder, "a", "64K") + " --local 3");
  ExpectRight(run, folder.Path("a"));
  const auto json = ReadRun(folder.Path("a"));
  EXPECT_EQ(json.at("hosts").at(0).at("memlock_limit_bytes"), 65536);
  EXPECT_EQ(json.at("hosts").at(0).at("nofile_limit"), 64);
  // Not a byte may be pinned where root of a user namespace has no privilege outside.
  const std::string apart = Succeeds("unshare -U -r true") ? "unshare -U -r " : "";
  const Outcome none =
      RunShell("ulimit -l 0; " + apart + "$HOCKNEY " + Short(folder, "b", "1M") + " --local 2");
  ExpectRight(none, folder.Path("b"));
}

TEST(PublicCaseTest, B50ALowerLimitOfOneRankIsTold) {
  if (!HasMpirun()) return;
  const Outcome run = RunShell(MpirunWords(3) +
                               "sh -c 'if test $OMPI_COMM_WORLD_RANK = 1; then ulimit -n 60; "
                               "ulimit -l 32; fi; exec $HOCKNEY info --json'");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto ranks = nlohmann::json::parse(run.out).at("ranks");
  EXPECT_EQ(ranks.at(1).at("nofile_limit"), 60);
  EXPECT_EQ(ranks.at(1).at("memlock_limit_bytes"), 32768);
  for (const int other : {0, 2}) EXPECT_NE(ranks.at(other).at("nofile_limit"), 60);
}

TEST(PublicCaseTest, B50TooFewOpenFilesEndWithExitThreeAndOneLine) {
  const ScratchFolder folder;
  for (const char* ranks : {" --local 64", " --local-processes 30"}) {
    const Outcome run = RunShell("ulimit -n 64; $HOCKNEY " + Short(folder, "a", "8") + ranks);
    EXPECT_EQ(run.exit_code, 3) << ranks;
    EXPECT_THAT(run.err, AllOf(::testing::MatchesRegex("[^\n]+\n"), HasSubstr("64 allowed"),
                               HasSubstr("ulimit -n")))
        << ranks;
  }
  if (!testing::HasMpirun()) return;
  // Only the ranks: the launcher itself needs more files.
  const Outcome run = RunShell(MpirunWords(12) + "sh -c 'ulimit -n 40; exec $HOCKNEY " +
                               Short(folder, "b", "8") + "'");
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("40 allowed"));
}

TEST(PublicCaseTest, B50ASmallStackIsEnough) {
  const ScratchFolder folder;
  const Outcome threads =
      RunShell("ulimit -s 256; $HOCKNEY " + Short(folder, "a", "64K") + " --local 3");
  ExpectRight(threads, folder.Path("a"));
  if (!testing::HasMpirun()) return;
  const Outcome run = RunShell(MpirunWords(2) + "sh -c 'ulimit -s 256; exec $HOCKNEY " +
                               Short(folder, "b", "64K") + "'");
  ExpectRight(run, folder.Path("b"));
}

// Sanitizers reserve far more addresses than these limits leave.
TEST(PublicCaseTest, B50TooFewAddressesEndWithExitThreeAndOneLine) {
  if (!RequireOrSkip("addresses", ReadBuild().sanitizer.empty(), "a sanitizer needs them all")) {
    return;
  }
  const ScratchFolder folder;
  const Outcome enough =
      RunShell("ulimit -v 1000000; $HOCKNEY " + Short(folder, "a", "1M") + " --local 2");
  ExpectRight(enough, folder.Path("a"));
  const Outcome few =
      RunShell("ulimit -v 200000; $HOCKNEY " + Short(folder, "b", "64M") + " --local 2");
  EXPECT_EQ(few.exit_code, 3);
  EXPECT_THAT(few.err,
              AllOf(::testing::MatchesRegex("[^\n]+\n"), HasSubstr("bytes of shared memory needed"),
                    HasSubstr("Cannot allocate memory")));
}

TEST(PublicCaseTest, B50TooFewAddressesOfOneRankEndAllRanks) {
  if (!HasMpirun()) return;
  if (!RequireOrSkip("addresses", ReadBuild().sanitizer.empty(), "a sanitizer needs them all")) {
    return;
  }
  const ScratchFolder folder;
  // Enough for MPI's start, which crashes with a little less.
  const Outcome run = RunShell(MpirunWords(3) +
                               "sh -c 'test $OMPI_COMM_WORLD_RANK = 1 && ulimit -v 350000; exec "
                               "$HOCKNEY " +
                               Short(folder, "a", "64M") + "'");
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_THAT(run.err, HasSubstr("rank 1: "));
}

}  // namespace
}  // namespace hockney
