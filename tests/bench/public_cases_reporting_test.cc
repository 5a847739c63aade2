// Reports about numbers and files of other benchmarks (B25, B26, B30, B31: numbers of the project's
// collection of public cases). tests/tuner/bandwidth_test.cc has the factors themselves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/bound.h"
#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunProgram;
using testing::RunShell;
using testing::ScratchFolder;

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Every collective on so many ranks; the folder's `name` has the rows.
Outcome SweepAll(const ScratchFolder& folder, const std::string& name, const std::string& words) {
  Outcome run = RunProgram(
      fmt::format("sweep all --place both -n 6 -w 0 {} --out {}", words, folder.Path(name)));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return run;
}

TEST(PublicCaseTest, B25OneRankHasNoBusBandwidthAndAWarning) {
  const ScratchFolder folder;
  const Outcome run = SweepAll(folder, "a", "--local 1 -b 8 -e 8K -f 1024 --llc 1K");
  EXPECT_THAT(run.out, AllOf(HasSubstr("warning: one rank sends nothing"), Not(HasSubstr("nan")),
                             Not(HasSubstr("inf"))));
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    EXPECT_FALSE(row.busbw_GBps.has_value()) << Name(row.collective);
    EXPECT_FALSE(row.bound_fraction.has_value()) << Name(row.collective);
  }
  const Outcome two = SweepAll(folder, "b", "--local 2 -b 8 -e 8");
  EXPECT_THAT(two.out, Not(HasSubstr("warning: one rank")));
}

// In place one rank has nothing to do, at any size: no rate of it is a result, and no failure.
TEST(PublicCaseTest, B25OneRankInPlaceIsNoFailure) {
  const ScratchFolder folder;
  const Outcome run = RunProgram(
      "sweep all_reduce broadcast reduce --local 1 --place in -b 8M -e 8M --llc 1M -n 6 -c 0 "
      "--out " +
      folder.Path("a"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

// What a row is held against: passes that moved 2000 bytes in 1 us, the best of two.
TEST(PublicCaseTest, B25TheBoundIsWhatMemoryAllows) {
  std::vector<Competitor> passes(2);
  passes[0].bound_bytes = 2000;
  passes[0].times_us = {1, 1, 9};
  passes[1].bound_bytes = 2000;
  passes[1].times_us = {4};
  SweepRow row;
  row.collective = Collective::kAllReduce;
  row.ranks = 8;
  row.size_bytes = 4000;
  // 16 buffers of 4000 bytes at 2000 bytes a microsecond take 32 us.
  const Shape shape{Collective::kAllReduce, 8, 0};
  const Layout layout(EvenCounts(shape, 1000), DataType::kFloat32, Cut{});
  EXPECT_EQ(RequiredBytes(layout, false), 64000U);
  EXPECT_DOUBLE_EQ(BoundBusbw(row, 64000, passes), 4000 * 1.75 / 32 / 1e3);
}

// B26: both bandwidths of every row follow from its size and time.
TEST(PublicCaseTest, B26BandwidthsOfEveryRowFollowFromSizeAndTime) {
  constexpr double kRanks = 3;
  const std::map<Collective, double> factors = {{Collective::kAllReduce, 2 * (kRanks - 1) / kRanks},
                                                {Collective::kReduceScatter, (kRanks - 1) / kRanks},
                                                {Collective::kAllGather, (kRanks - 1) / kRanks},
                                                {Collective::kAllToAll, (kRanks - 1) / kRanks},
                                                {Collective::kAllToAllV, (kRanks - 1) / kRanks},
                                                {Collective::kGather, (kRanks - 1) / kRanks},
                                                {Collective::kScatter, (kRanks - 1) / kRanks},
                                                {Collective::kBroadcast, 1},
                                                {Collective::kReduce, 1},
                                                {Collective::kSendRecv, 1}};
  const ScratchFolder folder;
  const Outcome run = SweepAll(folder, "a", "--local 3 -b 6K -e 6K");
  EXPECT_THAT(run.out, AllOf(HasSubstr("GB = 1e9 bytes"), HasSubstr("all ranks' blocks together"),
                             HasSubstr("may lift it above the link's rate")));
  std::size_t rows = 0;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    if (row.status != Status::kOk || row.collective == Collective::kBarrier) continue;
    ++rows;
    EXPECT_EQ(row.size_bytes, 6144U);
    ASSERT_TRUE(row.algbw_GBps && row.busbw_GBps && row.time_us_median);
    EXPECT_DOUBLE_EQ(*row.algbw_GBps, 6144 / (*row.time_us_median * 1e-6) / 1e9);
    EXPECT_DOUBLE_EQ(*row.busbw_GBps, *row.algbw_GBps * factors.at(row.collective));
  }
  EXPECT_GT(rows, 40U);
}

// Fields of one line, quotes resolved; a parser apart from the one under test.
std::vector<std::string> SplitLine(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      const bool is_doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (is_doubled) fields.back() += line[i++];
      if (!is_doubled) quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  EXPECT_FALSE(quoted) << line;
  return fields;
}

// B30: as many fields as names in every line, no blanks around them, and only finite numbers (B31).
void ExpectRectangular(const std::string& path, std::size_t least_rows) {
  std::istringstream lines(ReadAll(path));
  std::vector<std::string> names;
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = SplitLine(line);
    if (names.empty()) {
      names = fields;
      continue;
    }
    ++rows;
    ASSERT_EQ(fields.size(), names.size()) << line;
    for (const std::string& field : fields) {
      ASSERT_FALSE(field.starts_with(' ') || field.ends_with(' ')) << line;
      for (const char* word : {"nan", "-nan", "inf", "-inf", "NaN", "Infinity", "null"}) {
        ASSERT_NE(field, word) << line;
      }
    }
  }
  EXPECT_GE(rows, least_rows) << path;
}

// One rank and several, one sample and none, no bytes, skipped rows: whatever may leave a field
// empty.
TEST(PublicCaseTest, B30FilesOfARunAreRectangularAndReadBackEqual) {
  const ScratchFolder folder;
  for (const std::string words :
       {"--local 3 -b 0 -e 8K -f 1024 -n 2", "--local 1 -b 8 -e 8 -n 1"}) {
    const std::string run = folder.Path(words.substr(0, 9));
    const Outcome outcome =
        RunProgram(fmt::format("sweep all --place both -w 0 {} --out '{}'", words, run));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    ExpectRectangular(run + "/sweep.csv", 44);
    ExpectRectangular(run + "/samples.csv", 44);
    const std::string text = ReadAll(run + "/sweep.csv");
    std::string again = text.substr(0, text.find("launch,")) + NamesLine<SweepRow>();
    for (const SweepRow& row : ReadSweep(run)) again += RowLine(row);
    EXPECT_EQ(again, text);
  }
}

// The whole text is one document: nothing before it, nothing behind it. The parser takes no nan.
nlohmann::json ParseWhole(const std::string& text) {
  EXPECT_TRUE(text.starts_with('{')) << text.substr(0, 80);
  EXPECT_TRUE(text.ends_with("}\n"));
  return nlohmann::json::parse(text);
}

TEST(PublicCaseTest, B30JsonIsOneDocument) {
  const ScratchFolder folder;
  for (const char* words : {"list --json", "info --local 1 --json", "info --local 3 --json"}) {
    const Outcome run = RunProgram(words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    ParseWhole(run.out);
  }
  ASSERT_EQ(RunProgram("sweep barrier --local 2 -n 1 --out " + folder.Path("a")).exit_code, 0);
  ParseWhole(ReadAll(folder.Path("a/run.json")));
}

// B31: what is undefined is null in JSON.
TEST(PublicCaseTest, B31UndefinedIsNull) {
  const ScratchFolder folder;
  ASSERT_EQ(RunProgram("sweep barrier --local 1 -n 1 --out " + folder.Path("a")).exit_code, 0);
  const auto json = ParseWhole(ReadAll(folder.Path("a/run.json")));
  EXPECT_TRUE(json.at("mpi_module").is_null());
  EXPECT_TRUE(json.at("lost_rank").is_null());
}

// One sample has no interval and none has no time; standard deviations are not reported at all.
TEST(PublicCaseTest, B31OneSampleAndNoSampleHaveNoInterval) {
  const ScratchFolder folder;
  ASSERT_EQ(RunProgram("sweep all_to_all --local 2 -b 64 -e 64 --place both -n 1 --out " +
                       folder.Path("a"))
                .exit_code,
            0);
  std::size_t skipped = 0;
  for (const SweepRow& row : ReadSweep(folder.Path("a"))) {
    EXPECT_FALSE(row.time_us_ci_low.has_value());
    EXPECT_EQ(row.time_us_median.has_value(), row.samples == 1);
    skipped += row.samples == 0 ? 1 : 0;
  }
  EXPECT_GT(skipped, 0U);  // in place, and MPI
}

TEST(PublicCaseTest, B31TextsOfAnyKindSurvive) {
  const ScratchFolder folder;
  const std::string odd = "a \"b\" c\\d\te, \xC3\xA9 #";
  const std::string run = folder.Path(odd);
  const Outcome outcome =
      RunShell("UCX_TLS='" + odd + "' $HOCKNEY sweep barrier --local 1 -n 1 --out '" + run + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = ParseWhole(ReadAll(run + "/run.json"));
  EXPECT_EQ(json.at("environment").at("UCX_TLS"), odd);
  EXPECT_EQ(json.at("command_line").back(), run);
  EXPECT_FALSE(ReadSweep(run).empty());
}

TEST(PublicCaseTest, B31AHostNameOfAnyKindSurvives) {
  const std::string set_name =
      "unshare -u sh -c 'printf \"a\\\"b\\\\c\\td\\303\\251\" > /proc/sys/kernel/hostname && ";
  if (!RequireOrSkip("namespaces", RunShell(set_name + "true'").exit_code == 0,
                     "no host name of its own can be set")) {
    return;
  }
  const Outcome run = RunShell(set_name + "$HOCKNEY info --local 1 --json'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ParseWhole(run.out).at("hosts").at(0).at("name"), "a\"b\\c\td\xC3\xA9");
}

}  // namespace
}  // namespace hockney
