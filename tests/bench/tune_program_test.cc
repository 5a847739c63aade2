// Tunes recorded and made-up runs as a user does, and sweeps by the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/run_program.h"
#include "tests/scratch_folder.h"
#include "tests/tuner/select/made_up_rows.h"
#include "tuner/records.h"
#include "tuner/select/tuning_json.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::CountLines;
using ::testing::HasSubstr;
using testing::MadeUpRow;
using ::testing::Not;
using testing::Outcome;
using testing::RunProgram;
using testing::RunShell;
using testing::ScratchFolder;
using ::testing::StartsWith;

void WriteRun(const std::string& path, const std::vector<SweepRow>& rows) {
  RunFolder folder = RunFolder::Create(path);
  for (const SweepRow& row : rows) folder.AppendSweep(row, {});
}

// two_shot for short vectors, ring for long ones, in as many launches.
std::vector<SweepRow> TwoWinners(int launches, int ranks = 2) {
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < launches; ++launch) {
    for (const std::uint64_t bytes : {64, 128, 256, 512}) {
      rows.push_back(MadeUpRow("two_shot", bytes, bytes <= 128 ? 5 : 50, launch));
      rows.back().ranks = ranks;
      rows.push_back(MadeUpRow("ring", bytes, 20, launch));
      rows.back().ranks = ranks;
    }
  }
  return rows;
}

nlohmann::ordered_json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::ordered_json::parse(file);
}

TEST(TuneProgramTest, RulesRegretAndSearchOfARun) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  WriteRun(run, TwoWinners(4));
  const Outcome outcome = RunProgram("tune " + run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("0..128"), HasSubstr("129.."), HasSubstr("two_shot"),
                                 HasSubstr("library default"), HasSubstr("active search"),
                                 HasSubstr("tuning: " + run + "/tuning.json")));
  const Tuning tuning = ReadTuning(run + "/tuning.json");
  ASSERT_EQ(tuning.tables.size(), 1U);
  ASSERT_EQ(tuning.tables[0].rules.size(), 2U);
  EXPECT_EQ(tuning.tables[0].rules[0].algorithm, "two_shot");
  EXPECT_EQ(tuning.tables[0].rules[0].max_bytes, 128U);
  const auto json = ReadJson(run + "/tuning.json");
  EXPECT_EQ(json["regret"]["methods"][0]["method"], "tuner");
  EXPECT_EQ(json["regret"]["methods"][0]["cells"], 4);
  EXPECT_TRUE(json["active_search"]["share"].is_number());
}

TEST(TuneProgramTest, TheNewestRunIsTakenAndNamed) {
  const ScratchFolder folder;
  WriteRun(folder.Path("hockney-runs/20260101T000000Z_sweep"), TwoWinners(1));
  WriteRun(folder.Path("hockney-runs/20260102T000000Z_sweep"), TwoWinners(1));
  const Outcome outcome = RunShell("cd " + folder.Path("") + " && $HOCKNEY tune");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("20260102T000000Z_sweep (the newest)"));
  EXPECT_THAT(outcome.out, HasSubstr("regret: not known"));
  EXPECT_TRUE(
      ReadJson(folder.Path("hockney-runs/20260102T000000Z_sweep/tuning.json"))["regret"].is_null());
}

TEST(TuneProgramTest, BadUseIsOneLineAndExitCode2) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const std::string empty = folder.Path("empty");
  WriteRun(run, TwoWinners(1));
  SweepRow skipped = MadeUpRow("ring", 64, 5);
  skipped.status = Status::kSkipped;
  WriteRun(empty, {skipped});
  const std::map<std::string, std::string> expected = {
      {"tune " + folder.Path("none"), "expected a run folder"},
      {"tune " + empty, "no row to tune by"},
      {"tune " + run + " --implementation mpi", "of implementation mpi"},
      {"tune " + run + " --implementation gloo", "--implementation: \"gloo\""},
      {"tune " + run + " --shape 4", "--shape: \"4\""},
      {"tune " + run + " --shape 2x4", "--shape: \"2x4\""},
      {"tune " + run + " --shape 4x", "--shape: \"4x\""},
      {"tune " + run + " --export gloo", "--export: \"gloo\""},
      {"tune " + run + " --regret", "--regret: expected two launches"},
  };
  for (const auto& [words, text] : expected) {
    const Outcome outcome = RunProgram(words);
    EXPECT_EQ(outcome.exit_code, 2) << words << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(text)) << words;
    EXPECT_EQ(CountLines(outcome.err), 1U) << outcome.err;
  }
}

TEST(TuneProgramTest, ShapesThatWereNotMeasuredAreMarked) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  WriteRun(run, TwoWinners(1));
  const Outcome outcome =
      RunProgram("tune " + run + " --shape 4x2 --shape 8x1 --out " + folder.Path("rules.json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("model"));
  const Tuning tuning = ReadTuning(folder.Path("rules.json"));
  ASSERT_EQ(tuning.tables.size(), 3U);
  EXPECT_EQ(tuning.tables[1].rules[0].algorithm, "ring") << "two_shot ends at the node";
  EXPECT_FALSE(tuning.tables[2].rules[0].measured);
}

TEST(TuneProgramTest, AnExportOfWhatWasNotMeasuredIsANote) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  WriteRun(run, TwoWinners(1));
  const Outcome outcome = RunProgram("tune " + run + " --export nccl --export nccl-plugin");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("export nccl: "), HasSubstr("export nccl-plugin: ")));
  EXPECT_FALSE(std::filesystem::exists(run + "/exports")) << "no row of NCCL was measured";
}

TEST(TuneProgramTest, RulesOfNcclGoIntoExports) {
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  std::vector<SweepRow> rows = {MadeUpRow("ring", 64, 5), MadeUpRow("ring", 1 << 20, 50)};
  for (SweepRow& row : rows) {
    row.implementation = "nccl";
    row.protocol = "ll";
    row.lanes.reset();
    row.parameters = "library=2.27.3";
    row.memory_kind = "cuda";
  }
  WriteRun(run, rows);
  const Outcome outcome = RunProgram("tune " + run + " --export nccl");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_TRUE(std::filesystem::exists(run + "/exports")) << outcome.out;
  EXPECT_FALSE(std::filesystem::is_empty(run + "/exports"));
}

TEST(SweepTunedTest, ARunTunesTheNextOne) {
  const ScratchFolder folder;
  const std::string run = folder.Path("first");
  ASSERT_EQ(RunProgram("sweep all_reduce broadcast --local 2 -b 64 -e 4K -f 8 -n 3 --out " + run)
                .exit_code,
            0);
  ASSERT_EQ(RunProgram("tune " + run).exit_code, 0);
  const Outcome outcome =
      RunProgram("sweep all_reduce broadcast --local 2 -b 64 -e 4K -f 8 -n 3 --tuned " + run +
                 "/tuning.json --out " + folder.Path("second"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("tuned choices beside"), HasSubstr("mean"),
                                 HasSubstr("p95"), HasSubstr("over 6 sizes; fallbacks: 0")));
  const Tuning tuning = ReadTuning(run + "/tuning.json");
  int tuned = 0;
  for (const SweepRow& row : ReadSweep(folder.Path("second"))) {
    if (!row.requested_algorithm.starts_with("tuned:")) continue;
    ++tuned;
    EXPECT_EQ(row.requested_algorithm, "tuned:" + row.algorithm);
    EXPECT_EQ(row.status, Status::kOk);
    EXPECT_EQ(row.reason, "");
  }
  EXPECT_EQ(tuned, 6) << "one row a size of each collective";
}

// The rules of one table of all_reduce on 2 ranks: this algorithm for every size.
std::string WriteRules(const ScratchFolder& folder, const TuningRule& rule, int ranks = 2) {
  TuningTable table{.collective = Collective::kAllReduce,
                    .ranks = ranks,
                    .nodes = 1,
                    .dtype = "float32",
                    .op = "sum",
                    .memory_kind = "host",
                    .mode = "isolated",
                    .rules = {rule}};
  const std::string path = folder.Path("rules.json");
  std::ofstream(path) << TuningJson({.tables = {table}}).dump(1) << "\n";
  return path;
}

TuningRule RuleOf(const std::string& algorithm) {
  TuningRule rule;
  SetChoice(rule, ChoiceOf(MadeUpRow(algorithm, 64, 1)));
  return rule;
}

// The rows of a sweep with these words, by requested_algorithm.
std::multimap<std::string, SweepRow> Sweep(const ScratchFolder& folder, const std::string& words) {
  const Outcome outcome =
      RunProgram("sweep all_reduce -b 64 -e 64 -n 2 --out " + folder.Path("sweep") + " " + words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::multimap<std::string, SweepRow> rows;
  for (const SweepRow& row : ReadSweep(folder.Path("sweep"))) {
    rows.emplace(row.requested_algorithm, row);
  }
  return rows;
}

TEST(SweepTunedTest, AChoiceThatNobodyAskedForRunsBeside) {
  const ScratchFolder folder;
  TuningRule rule = RuleOf("recursive_doubling");
  rule.lanes = 4;  // more than a sweep on one host tries by itself
  const auto rows = Sweep(folder, "--local 2 --algorithm ring --implementation hockney --tuned " +
                                      WriteRules(folder, rule));
  ASSERT_EQ(rows.count("tuned:recursive_doubling"), 1U);
  const SweepRow& row = rows.find("tuned:recursive_doubling")->second;
  EXPECT_EQ(row.algorithm, "recursive_doubling");
  EXPECT_EQ(row.lanes, 4);
  EXPECT_EQ(row.status, Status::kOk) << row.reason;
  EXPECT_GE(rows.count("ring"), 1U);
}

TEST(SweepTunedTest, PublicCaseB36AChoiceThatCannotRunHereGivesWayByName) {
  for (const bool of_library : {true, false}) {
    const ScratchFolder folder;
    TuningRule rule = RuleOf("hierarchical(direct,ring)");
    if (of_library) rule = {.implementation = "mpi", .algorithm = "default"};
    const auto rows = Sweep(folder, "--local 2 --tuned " + WriteRules(folder, rule));
    const auto found = rows.find("tuned:" + rule.algorithm);
    ASSERT_NE(found, rows.end());
    EXPECT_EQ(found->second.algorithm, "ring");
    EXPECT_EQ(found->second.status, Status::kOk);
    EXPECT_THAT(found->second.reason,
                AllOf(StartsWith("fallback: "), HasSubstr(of_library ? "mpi" : "hierarchical")));
  }
}

TEST(SweepTunedTest, RulesOfAnotherShapeAndBadFilesAreRefusedInOneLine) {
  const ScratchFolder folder;
  const std::string of_four = WriteRules(folder, RuleOf("ring"), 4);
  const std::string words = "sweep all_reduce --local 2 -b 64 -e 64 -n 2 --tuned ";
  const Outcome shape = RunProgram(words + of_four);
  EXPECT_EQ(shape.exit_code, 2);
  EXPECT_EQ(CountLines(shape.err), 1U) << shape.err;
  EXPECT_THAT(shape.err, AllOf(HasSubstr("2 ranks on 1 nodes"), HasSubstr("4x1")));
  const Outcome other = RunProgram("sweep broadcast --local 4 -b 64 -e 64 -n 2 --tuned " + of_four);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("expected rules of a collective that is measured"));
  const Outcome split = RunProgram(words + of_four + " --split DIV:1");
  EXPECT_EQ(split.exit_code, 2);
  EXPECT_THAT(split.err, HasSubstr("--split"));
  const Outcome missing = RunProgram(words + folder.Path("none.json"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.json"));
  EXPECT_EQ(CountLines(missing.err), 1U) << missing.err;

  TuningRule unknown = RuleOf("ring");
  unknown.algorithm = "star";
  const Outcome star = RunProgram(words + WriteRules(folder, unknown));
  EXPECT_EQ(star.exit_code, 2);
  EXPECT_THAT(star.err, HasSubstr("/tables/0/rules/0/algorithm: \"star\""));
  EXPECT_EQ(CountLines(star.err), 1U) << star.err;
}

TEST(SweepTunedTest, AnEmptyFileIsNamedByLineAndColumn) {
  const ScratchFolder folder;
  std::ofstream(folder.Path("bad.json")) << "{\n";
  const Outcome outcome =
      RunProgram("sweep all_reduce --local 2 -b 64 -e 64 --tuned " + folder.Path("bad.json"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("bad.json:2:1: expected JSON"));
}

}  // namespace
}  // namespace hockney
