// A disk that fills up while a run is recorded: the files of the run agree whatever was written
// last. Each test limits a child process, or gives it a file system of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "topology/check.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::ExitedWithCode;
using testing::ScratchFolder;

constexpr int kSamples = 20;

std::vector<SampleRow> ManySamples() {
  std::vector<SampleRow> samples(kSamples);
  for (int i = 0; i < kSamples; ++i) samples[i] = {.sample = i, .time_us = 1.0 / (i + 1)};
  return samples;
}

// Appends rows until the disk is full. Returns how many it took.
int FillUp(RunFolder& run) {
  for (int rows = 0; rows < 100000; ++rows) {
    try {
      run.AppendSweep(SweepRow{.parameters = std::string(rows % 97, 'x')}, ManySamples());
    } catch (const EnvironmentError&) {
      return rows;
    }
  }
  return -1;
}

// Whether each of so many rows is there with all its samples, and nothing else.
bool Agree(const std::string& path, int rows) {
  std::map<std::int64_t, int> samples;
  for (const SampleRow& sample : ReadSamples(path)) ++samples[sample.row];
  bool complete = static_cast<int>(samples.size()) == rows;
  for (const auto& [row, count] : samples) complete = complete && row < rows && count == kSamples;
  return complete && static_cast<int>(ReadSweep(path).size()) == rows;
}

// Fills the run's folder twice, as a run that goes on after rows of earlier launches does, and ends
// the process: 0 if the files agree each time.
[[noreturn]] void FillAndExit(const std::string& path) {
  RunFolder run = RunFolder::Create(path);
  const int rows = FillUp(run);
  const bool first = rows > 0 && Agree(path, rows);
  RunFolder again = RunFolder::Append(path);
  const int more = FillUp(again);
  const bool second = more >= 0 && again.sweep_rows() == rows + more && Agree(path, rows + more);
  if (!first || !second)
    std::fprintf(stderr, "%d rows %d, then %d %d\n", rows, first, more, second);
  _exit(first && second ? 0 : 1);
}

void LimitFiles(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
}

class FullDiskDeathTest : public ::testing::TestWithParam<rlim_t> {};

TEST_P(FullDiskDeathTest, FilesAgreeAtTheLimitOfAFilesLength) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path());
  // samples.csv is the longer file: the row in sweep.csv is written when its samples do not fit.
  const auto limit_and_fill = [&] {
    LimitFiles(GetParam());
    FillAndExit(folder.Path("run"));
  };
  EXPECT_EXIT(limit_and_fill(), ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Bytes, FullDiskDeathTest,
                         ::testing::Values(20000, 20001, 20100, 20333, 21000));

TEST(FullFileSystemDeathTest, AFirstRowWithoutRoomLeavesNoEmptyFile) {
  const ScratchFolder folder;
  const auto append_one = [&] {
    RunFolder run = RunFolder::Create(folder.Path("run"));
    LimitFiles(1500);  // the row fits, its samples do not
    std::vector<SampleRow> samples(200, {.time_us = 1.0 / 3});
    try {
      run.AppendSweep({}, samples);
    } catch (const EnvironmentError&) {
      const bool no_samples = !std::filesystem::exists(run.path() / "samples.csv");
      _exit(no_samples && ReadSweep(run.path()).empty() ? 0 : 1);
    }
    _exit(3);
  };
  EXPECT_EXIT(append_one(), ExitedWithCode(0), "");
}

TEST(FullFileSystemDeathTest, FilesAgreeOnASmallFileSystem) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder.path());
  const auto mount_one = [&] {
    // Nothing of it reaches other name spaces, and it ends with the process.
    return unshare(CLONE_NEWNS) == 0 &&
           mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("none", folder.path().c_str(), "tmpfs", 0, "size=256k") == 0;
  };
  constexpr int kNoMount = 77;
  const auto try_mount = [&] { _exit(mount_one() ? 0 : kNoMount); };
  const pid_t child = fork();
  if (child == 0) try_mount();
  int status = 0;
  waitpid(child, &status, 0);
  if (!RequireOrSkip("namespaces", WEXITSTATUS(status) == 0, "no file system can be mounted")) {
    return;
  }
  const auto mount_and_fill = [&] {
    if (!mount_one()) _exit(kNoMount);
    FillAndExit(folder.Path("run"));
  };
  EXPECT_EXIT(mount_and_fill(), ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hockney
