// Reports about sizes, counts and the command line of other benchmarks (B01 to B07: numbers of the
// project's collection of public cases), as a user types them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/sweep_report.h"
#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "topology/machine.h"
#include "tuner/records.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Outcome;
using testing::RunProgram;
using testing::RunShell;
using testing::RunUnderMpi;
using testing::ScratchFolder;
using ::testing::SizeIs;

struct Planned {
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};

// The table of a dry run; the last line, which is no row, goes to `total`.
std::vector<Planned> Plan(const std::string& arguments, std::string* total = nullptr) {
  const Outcome run = RunProgram("sweep " + arguments + " --dry-run");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::vector<Planned> rows;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string collective;
    Planned row;
    std::string place;
    if (words >> collective >> row.size >> row.count >> place) {
      rows.push_back(row);
    } else if (total != nullptr) {
      *total = line;
    }
  }
  return rows;
}

std::vector<std::uint64_t> PlannedSizes(const std::string& arguments) {
  std::vector<std::uint64_t> sizes;
  for (const Planned& row : Plan(arguments)) sizes.push_back(row.size);
  return sizes;
}

// Exit code 2, nothing on stdout, and one line on stderr that names the option and the text.
void ExpectRefused(const std::string& arguments, const std::string& option,
                   const std::string& text) {
  const Outcome run = RunProgram("sweep allreduce --local 2 " + arguments);
  EXPECT_EQ(run.exit_code, 2) << arguments;
  EXPECT_EQ(run.out, "") << arguments;
  EXPECT_THAT(run.err, AllOf(MatchesRegex("hockney sweep: [^\n]+\n"), HasSubstr(option),
                             HasSubstr("\"" + text + "\""), HasSubstr("expected")))
      << arguments;
}

TEST(PublicCaseTest, B01SizesTakeSuffixesOfEitherCase) {
  EXPECT_THAT(PlannedSizes("allreduce --local 2 -b 64M -e 70M -i 2M"),
              ElementsAre(67108864, 69206016, 71303168, 73400320));
  EXPECT_THAT(PlannedSizes("allreduce --local 2 -b 1g -e 2g"), ElementsAre(1073741824, 2147483648));
  EXPECT_THAT(PlannedSizes("allreduce --local 2 -b 1G -e 2G"), ElementsAre(1073741824, 2147483648));
}

TEST(PublicCaseTest, B01WhatIsNoSizeIsRefusedByEveryOptionThatTakesOne) {
  const std::pair<const char*, const char*> options[] = {{"-b", "--minbytes (-b)"},
                                                         {"-e", "--maxbytes (-e)"},
                                                         {"-i", "--stepbytes (-i)"},
                                                         {"--llc", "--llc"}};
  for (const auto& [flag, name] : options) {
    for (const char* text : {"12Q", "-8", "1.5M", "99999999999999999999", "", "0x100", "8 ", "M"}) {
      ExpectRefused(std::string(flag) + " '" + text + "'", name, text);
    }
  }
  ExpectRefused("-b 1G -e 1K", "--maxbytes (-e)", "1024");
}

TEST(PublicCaseTest, B01OneOfSeveralRanksSpeaks) {
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  const Outcome run = RunUnderMpi(3, "sweep allreduce -b 12Q");
  EXPECT_EQ(run.exit_code, 2);
  const std::size_t first = run.err.find("\"12Q\"");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(run.err.find("\"12Q\"", first + 1), std::string::npos) << run.err;
}

// Not only sizes: every option with a value.
TEST(PublicCaseTest, B01MissingAndRepeatedValuesAreRefused) {
  const std::pair<const char*, const char*> options[] = {{"--minbytes", "--minbytes (-b)"},
                                                         {"-e", "--maxbytes (-e)"},
                                                         {"-f", "--stepfactor (-f)"},
                                                         {"--count", "--count"},
                                                         {"-n", "--iters (-n)"},
                                                         {"-T", "--timeout (-T)"},
                                                         {"--local", "--local"},
                                                         {"-d", "--datatype (-d)"},
                                                         {"--out", "--out"}};
  for (const auto& [flag, name] : options) {
    for (const char* form : {"{0}", "{0} ''", "{0} -w 3", "{0} 8 {0} 9"}) {
      const std::string words = fmt::format(fmt::runtime(form), flag);
      const Outcome run = RunProgram("sweep allreduce " + words);
      EXPECT_EQ(run.exit_code, 2) << words;
      EXPECT_THAT(run.err, AllOf(MatchesRegex("hockney sweep: [^\n]+\n"),
                                 HasSubstr(std::string(name) + ": "), HasSubstr("expected ")))
          << words;
    }
  }
  EXPECT_EQ(RunProgram("sweep allreduce -b 8 -b 16").err,
            "hockney sweep: --minbytes (-b): \"16\": expected one value; \"8\" came before it\n");
  EXPECT_EQ(RunProgram("sweep allreduce -b").err,
            "hockney sweep: --minbytes (-b): no value: expected one behind it\n");
  EXPECT_EQ(RunProgram("sweep allreduce --dry-run=3").err,
            "hockney sweep: --dry-run: \"3\": expected no value\n");
}

// B02: half of the free memory and 1 MiB, for each of 2 ranks' two buffers.
TEST(PublicCaseTest, B02BuffersAboveFreeMemoryEndWithBothNumbers) {
  const std::optional<std::uint64_t> available = AvailableMemory().bytes;
  ASSERT_TRUE(available.has_value());
  const std::uint64_t bytes = *available / 8 * 4 + (1 << 20);
  const std::string size = std::to_string(bytes);
  const Outcome run = RunProgram("sweep allreduce --local 2 -b " + size + " -e " + size);
  EXPECT_EQ(run.exit_code, 3) << run.err;
  ASSERT_THAT(run.err, MatchesRegex("hockney sweep: [0-9]+ bytes of shared memory needed by 2 "
                                    "ranks, [0-9]+ bytes available \\([^\n]+\\)\n"));
  std::istringstream words(run.err.substr(run.err.find(": ") + 2));
  std::uint64_t needed = 0;
  words >> needed;
  EXPECT_GE(needed, 4 * bytes);
}

// A control group of this process's children with so little memory; gone in the end.
class MemoryGroup {
 public:
  explicit MemoryGroup(std::uint64_t bytes) {
    const std::string name = "hockney_test" + std::to_string(getpid());
    for (const auto& [folder, limit] : {std::pair("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                                        std::pair("/sys/fs/cgroup", "memory.max")}) {
      std::error_code error;
      path_ = fs::path(folder) / name;
      if (!fs::create_directory(path_, error)) continue;
      const bool set = static_cast<bool>(std::ofstream(path_ / limit) << bytes << std::flush);
      limit_file_ = limit;
      if (set) return;
      fs::remove(path_, error);
    }
    path_.clear();
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup() {
    std::error_code error;
    if (valid()) fs::remove(path_, error);
  }
  bool valid() const { return !path_.empty(); }
  const std::string& limit_file() const { return limit_file_; }
  // Runs the program inside.
  Outcome Run(const std::string& arguments) const {
    return RunShell("sh -c 'echo $$ > " + (path_ / "cgroup.procs").string() + " && exec $HOCKNEY " +
                    arguments + "'");
  }

 private:
  fs::path path_;
  std::string limit_file_;
};

TEST(PublicCaseTest, B02TheLimitOfAControlGroupCounts) {
  const MemoryGroup group(256 << 20);
  if (!RequireOrSkip("cgroup", group.valid(), "no control group with a memory limit can be made")) {
    return;
  }
  const Outcome large = group.Run("sweep allreduce --local 2 -b 128M -e 128M");
  EXPECT_EQ(large.exit_code, 3) << large.err;
  EXPECT_THAT(large.err, AllOf(MatchesRegex("[^\n]+\n"), HasSubstr("needed by 2 ranks"),
                               HasSubstr(group.limit_file())));
  const ScratchFolder folder;
  const Outcome small =
      group.Run("sweep allreduce --local 2 -b 8K -e 8K -n 1 --out " + folder.Path("run"));
  EXPECT_EQ(small.exit_code, 0) << small.err;
}

TEST(PublicCaseTest, B04FactorOneStepsByTheIncrement) {
  EXPECT_THAT(PlannedSizes("allreduce --local 2 -b 192K -e 200K -f 1 -i 1024"),
              ElementsAre(196608, 197632, 198656, 199680, 200704, 201728, 202752, 203776, 204800));
}

TEST(PublicCaseTest, B04StepsThatDoNotEndAreRefused) {
  ExpectRefused("-b 192K -e 200K -f 1", "--stepfactor (-f)", "1");
  for (const char* text : {"0", "-2", "1.5", ""}) {
    ExpectRefused(std::string("-f '") + text + "'", "--stepfactor (-f)", text);
  }
  ExpectRefused("-i 0", "--stepbytes (-i)", "0");
  ExpectRefused("-b 8 -e 1T -i 8", "--stepbytes (-i)", "8");
}

TEST(PublicCaseTest, B04EqualEndsAreOneSizeAndZeroReachesTheLargest) {
  EXPECT_THAT(PlannedSizes("allreduce --local 2 -b 8 -e 8 -f 2"), ElementsAre(8));
  EXPECT_THAT(PlannedSizes("allreduce --local 2 -b 8 -e 8 -f 1"), ElementsAre(8));
  const auto sizes = PlannedSizes("allreduce --local 2 -b 0 -e 1M -f 2");
  EXPECT_THAT(sizes, SizeIs(19));  // 0, then 2^3 to 2^20
  EXPECT_EQ(sizes.front(), 0U);
  EXPECT_EQ(sizes.back(), 1048576U);
}

// Samples of a sweep with one competitor.
std::vector<SampleRow> Samples(const std::string& arguments) {
  const ScratchFolder folder;
  const Outcome run =
      RunProgram("sweep allreduce --algorithm ring --protocol simple --local 2 " + arguments +
                 " -b 64 -e 64 --implementation hockney --out " + folder.Path("run"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return ReadSamples(folder.Path("run"));
}

// B05: `order` counts all timed calls, the warm-up too: that of the first sample is its length.
TEST(PublicCaseTest, B05FewSamplesHaveAWarmUpUnlessNoneIsAskedFor) {
  for (const char* count : {"1", "9", "20"}) {
    const auto samples = Samples(std::string("-n ") + count);
    ASSERT_THAT(samples, SizeIs(std::stoul(count)));
    EXPECT_GE(samples[0].order, 1) << count;
  }
  for (const char* words : {"-n 1 -w 0", "-n 20 -w 0"}) {
    EXPECT_EQ(Samples(words).at(0).order, 0) << words;
  }
  const auto samples = Samples("-n 5 -w 3");
  EXPECT_THAT(samples, SizeIs(5));
  EXPECT_EQ(samples.at(0).order, 3);
}

TEST(PublicCaseTest, B05NoSamplesAreRefused) {
  ExpectRefused("-n 0", "--iters (-n)", "0");
  ExpectRefused("-n -1", "--iters (-n)", "-1");
  ExpectRefused("-w -1", "--warmup_iters (-w)", "-1");
}

TEST(PublicCaseTest, B05AMissingWarmUpIsSaid) {
  SweepRow row;
  row.ranks = 2;
  SweepOptions options;
  ::testing::internal::CaptureStdout();
  PrintLegend({&row, 1}, options);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), Not(HasSubstr("warm-up")));
  options.warmups = 0;
  ::testing::internal::CaptureStdout();
  PrintLegend({&row, 1}, options);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("no warm-up (-w 0)"));
}

// A budget that is used up by the first call still ends, with samples, and shows its progress.
TEST(PublicCaseTest, B05WarmUpIsBoundedByTimeToo) {
  const ScratchFolder folder;
  const Outcome run = RunProgram(
      "sweep allreduce --local 2 -b 4M -e 4M -c 0 --algorithm two_shot --row-budget 1us --progress "
      "always --out " +
      folder.Path("run"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("[0/1] all_reduce 4194304 bytes"));
  for (const SweepRow& row : ReadSweep(folder.Path("run"))) {
    if (row.status != Status::kOk) continue;
    EXPECT_GE(row.samples, 5U);
    EXPECT_LT(row.samples, 100U);
  }
}

TEST(PublicCaseTest, B06SizesAround32BitsArePlannedAsAsked) {
  for (const std::uint64_t size :
       {2147483647ULL, 2147483648ULL, 4294967295ULL, 4294967296ULL, 4294967297ULL, 1ULL << 40}) {
    std::string total;
    const auto rows = Plan(fmt::format("allreduce --local 1 -d int8 -b {0} -e {0}", size), &total);
    ASSERT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows[0].size, size);
    EXPECT_EQ(rows[0].count, size);
    // "1 cells, 1 ranks, buffers of N bytes a rank; ...": input and output.
    std::uint64_t bytes = 0;
    std::istringstream(total.substr(total.find("buffers of ") + 11)) >> bytes;
    EXPECT_GE(bytes, 2 * size);
    EXPECT_LT(bytes, 2 * size + (1 << 20));
  }
  const auto rows = Plan("all_gather --local 2 -d float32 -b 4G -e 4G");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].size, 4294967296U);
  EXPECT_EQ(rows[0].count, 536870912U);
}

TEST(PublicCaseTest, B06SizesThatNoMemoryHasDoNotWrap) {
  ExpectRefused("-b 18446744073709551616", "--minbytes (-b)", "18446744073709551616");
  const Outcome run = RunProgram("sweep all --local 2 -b 16000000T -e 16000000T --dry-run");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(MatchesRegex("[^\n]+\n"), HasSubstr("--maxbytes (-e)")));
}

TEST(PublicCaseTest, B07PlansOfUnequalBlocksAboveAnIntHaveNoNegativeNumber) {
  std::string total;
  const auto rows = Plan("all_to_all_v all_gather --local 4 -d int8 --count 1000000000", &total);
  ASSERT_THAT(rows, SizeIs(2));
  for (const Planned& row : rows) {
    EXPECT_EQ(row.size, 4000000000U);
    EXPECT_EQ(row.count, 1000000000U);
  }
  EXPECT_THAT(total, Not(HasSubstr("-")));
  const auto floats = Plan("all_to_all_v --local 2 -d float32 --count 600000000");
  ASSERT_THAT(floats, SizeIs(1));
  EXPECT_EQ(floats[0].size, 4800000000U);
}

}  // namespace
}  // namespace hockney
