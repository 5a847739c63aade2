#include "tuner/select/regret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tuner/select/made_up_rows.h"
#include "tuner/select/active_search.h"

namespace hockney {
namespace {

using testing::MadeUpMpiRow;
using testing::MadeUpRow;
using testing::TableOf;

std::vector<MeasuredTable> TablesOf(std::vector<SweepRow> rows) {
  const std::vector<RunRecords> runs = {{.sweep = std::move(rows)}};
  return MeasuredTables(runs);
}

Regret Find(const RegretReport& report, const std::string& method) {
  for (const Regret& regret : report.methods) {
    if (regret.method == method) return regret;
  }
  for (const Regret& regret : report.by_knowledge) {
    if (regret.method == method) return regret;
  }
  return {.method = "missing"};
}

TEST(RegretTest, LaunchesAreSplitForTuningAndTwoHalves) {
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 8; ++launch) rows.push_back(MadeUpRow("ring", 64, 5, launch));
  const LaunchSplit split = SplitLaunches(TableOf(rows));
  EXPECT_EQ(split.tuning, (std::set<LaunchId>{{0, 0}, {0, 2}, {0, 4}, {0, 6}}));
  EXPECT_EQ(split.first, (std::set<LaunchId>{{0, 1}, {0, 5}}));
  EXPECT_EQ(split.second, (std::set<LaunchId>{{0, 3}, {0, 7}}));
}

TEST(RegretTest, KnownRegretsOfAllMethods) {
  // ring 10, one_shot 8, MPI 20 us at every size and launch.
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 4; ++launch) {
    for (const std::uint64_t bytes : {64, 128, 65536}) {
      rows.push_back(MadeUpRow("ring", bytes, 10, launch));
      rows.push_back(MadeUpRow("one_shot", bytes, 8, launch));
      rows.push_back(MadeUpMpiRow(bytes, 20, launch));
    }
  }
  Legality legality;
  const RegretReport report = ScoreRegret(TablesOf(rows), {}, legality);
  EXPECT_TRUE(report.has_halves);
  const Regret tuner = Find(report, "tuner");
  EXPECT_EQ(tuner.cells, 3U);
  EXPECT_EQ(tuner.left_out, 0U);
  EXPECT_EQ(tuner.within_noise, 3U);
  EXPECT_DOUBLE_EQ(tuner.max, 0);
  EXPECT_NEAR(Find(report, "library default").mean, 1.5, 1e-12);
  EXPECT_NEAR(Find(report, "ring").mean, 0.25, 1e-12);
  // Recursive doubling was not measured, so the table's second choice stands in.
  EXPECT_NEAR(Find(report, "fixed table").p95, 0.25, 1e-12);
  EXPECT_EQ(Find(report, "size seen").cells, 2U) << "64, and the largest";
  EXPECT_EQ(Find(report, "size unseen").cells, 1U);
  EXPECT_EQ(RegretJson(report)["methods"][0]["method"], "tuner");
}

TEST(RegretTest, TuningReadsOnlyItsOwnLaunches) {
  // one_shot is fast where tuning looks and slow where it is scored.
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 8; ++launch) {
    rows.push_back(MadeUpRow("ring", 64, 10, launch));
    rows.push_back(MadeUpRow("one_shot", 64, launch % 2 == 0 ? 5 : 20, launch));
  }
  Legality legality;
  const RegretReport report = ScoreRegret(TablesOf(rows), {}, legality);
  EXPECT_NEAR(Find(report, "tuner").mean, 1, 1e-12);
  EXPECT_EQ(Find(report, "tuner").within_noise, 0U);
}

TEST(RegretTest, LuckOfTheBestDoesNotCount) {
  // Two equal choices, each of which is lucky in one half of the launches that score.
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 4; ++launch) {
    rows.push_back(MadeUpRow("one_shot", 64, launch == 1 ? 5 : 10, launch));
    rows.push_back(MadeUpRow("ring", 64, launch == 3 ? 5 : 10, launch));
  }
  Legality legality;
  const RegretReport report = ScoreRegret(TablesOf(rows), {}, legality);
  // The best of launch 1 (one_shot) is slower in launch 3 and the other way round: whatever is
  // chosen is once equal to the best and once twice as fast.
  EXPECT_NEAR(Find(report, "tuner").mean, (0.0 + -0.5) / 2, 1e-12);
}

TEST(RegretTest, AThirdOfTheShapesIsHeldOut) {
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 4; ++launch) {
    for (const int ranks : {2, 4, 8}) {
      rows.push_back(MadeUpRow("ring", 64, 10 * ranks, launch));
      rows.back().ranks = ranks;
      rows.push_back(MadeUpRow("one_shot", 64, 8 * ranks, launch));
      rows.back().ranks = ranks;
    }
  }
  Legality legality;
  const RegretReport report = ScoreRegret(TablesOf(rows), {}, legality);
  EXPECT_EQ(Find(report, "shape unseen").cells, 1U);
  EXPECT_EQ(Find(report, "shape unseen").left_out, 0U);
  EXPECT_EQ(Find(report, "tuner").cells, 3U);
  EXPECT_DOUBLE_EQ(Find(report, "tuner").max, 0);
  for (const ScoredCell& cell : report.cells) {
    EXPECT_EQ(cell.knowledge == Knowledge::kCall, cell.key.ranks == 4);
  }
}

TEST(RegretTest, OneLaunchScoresNothingAndTwoHaveNoHalves) {
  Legality legality;
  std::vector<SweepRow> rows = {MadeUpRow("ring", 64, 10), MadeUpRow("one_shot", 64, 8)};
  EXPECT_TRUE(ScoreRegret(TablesOf(rows), {}, legality).methods.empty());
  EXPECT_TRUE(RegretJson(ScoreRegret(TablesOf(rows), {}, legality)).is_null());
  rows.push_back(MadeUpRow("ring", 64, 10, 1));
  rows.push_back(MadeUpRow("one_shot", 64, 8, 1));
  const RegretReport two = ScoreRegret(TablesOf(rows), {}, legality);
  EXPECT_EQ(Find(two, "tuner").cells, 1U);
  EXPECT_FALSE(two.has_halves);
  EXPECT_TRUE(ScoreRegret({}, {}, legality).methods.empty());
}

// 21 sizes, 16 choices of which three win one range each, by far; 4 launches.
std::vector<SweepRow> ThreeRegimes() {
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 8; ++launch) {
    for (int k = 3; k < 24; ++k) {
      const double n = static_cast<double>(std::uint64_t{1} << k);
      const std::uint64_t bytes = std::uint64_t{1} << k;
      const double jitter = 1 + 0.01 * ((launch + k) % 3);
      rows.push_back(MadeUpRow("one_shot", bytes, (1 + n / 1000) * jitter, launch));
      rows.push_back(MadeUpRow("two_shot", bytes, (4 + n / 4000) * jitter, launch));
      rows.push_back(MadeUpRow("ring", bytes, (100 + n / 16000) * jitter, launch));
      for (int lanes = 2; lanes < 15; ++lanes) {
        rows.push_back(MadeUpRow("recursive_doubling", bytes, (3 + n / 600) * lanes, launch));
        rows.back().lanes = lanes;
      }
    }
  }
  return rows;
}

TEST(ActiveSearchTest, FindsTheRulesOfAnExhaustiveOneWithASmallPartOfIt) {
  const MeasuredTable table = TableOf(ThreeRegimes());
  const MeasuredTable found = SearchActively(table);
  EXPECT_EQ(CountTimes(table), 8U * 21U * 16U);
  EXPECT_LT(CountTimes(found) * 7, CountTimes(table));
  const TuningTable all = ChooseTable(table);
  const TuningTable few = ChooseTable(found);
  ASSERT_EQ(all.rules.size(), 3U);
  ASSERT_EQ(few.rules.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(ChoiceOf(few.rules[i]), ChoiceOf(all.rules[i]));
}

TEST(ActiveSearchTest, ItsRegretIsScoredOnOtherLaunches) {
  const std::vector<MeasuredTable> tables = TablesOf(ThreeRegimes());
  const SearchReport report = ScoreSearch(tables, {});
  EXPECT_EQ(report.exhaustive, 4U * 21U * 16U) << "of the launches that tuning reads";
  EXPECT_LE(report.share(), 1.0 / 7);
  EXPECT_EQ(report.regret.cells, 21U);
  EXPECT_LE(report.regret.mean, 0.03);
}

TEST(ActiveSearchTest, ReadsOnlyTimesThatAreThere) {
  EXPECT_EQ(CountTimes(SearchActively({})), 0U);
  EXPECT_EQ(CountTimes(SearchActively(TableOf({MadeUpRow("ring", 64, 5)}))), 1U);
  EXPECT_TRUE(SearchJson(ScoreSearch({}, {})).is_null());
}

}  // namespace
}  // namespace hockney
