#include "tuner/select/choose_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/tuner/select/made_up_rows.h"

namespace hockney {
namespace {

using testing::MadeUpMpiRow;
using testing::MadeUpRow;
using testing::TableOf;

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

// "ring 0..512", ...
std::vector<std::string> Ranges(const TuningTable& table) {
  std::vector<std::string> ranges;
  for (const TuningRule& rule : table.rules) {
    ranges.push_back(Describe(ChoiceOf(rule)) + " " + std::to_string(rule.min_bytes) + ".." +
                     (rule.max_bytes == kNoEnd ? "" : std::to_string(rule.max_bytes)));
  }
  return ranges;
}

// Times of public case B38 (a published latency table), in us.
struct Case {
  std::uint64_t bytes;
  double a;
  double b;
};
constexpr Case kCases[] = {
    {4, 29.45, 271.84},       {8, 43.29, 792.63},       {16, 53.09, 950.44},
    {32, 60.85, 763.14},      {64, 123.39, 883.84},     {128, 531.5, 974.35},
    {256, 1026.58, 1075.77},  {512, 1028.21, 1042.87},  {1024, 1942.62, 1331.72},
    {2048, 2149.71, 1287.28}, {4096, 4126.88, 2087.69}, {8192, 8338.22, 3880.91}};

TEST(ChooseTableTest, PublicCaseB38HasOneChangeAndNoFlipFlop) {
  for (const bool a_is_simpler : {true, false}) {
    const std::string a = a_is_simpler ? "one_shot" : "two_shot";
    const std::string b = a_is_simpler ? "two_shot" : "one_shot";
    std::vector<SweepRow> rows;
    for (const Case& each : kCases) {
      rows.push_back(MadeUpRow(a, each.bytes, each.a));
      rows.push_back(MadeUpRow(b, each.bytes, each.b));
    }
    const TuningTable table = ChooseTable(TableOf(rows));
    EXPECT_THAT(Ranges(table), ::testing::ElementsAre(a + " 0..512", b + " 513.."));
    EXPECT_TRUE(table.rules[0].tie) << "1.4 % at 512";
    EXPECT_DOUBLE_EQ(table.rules[0].time_us.value(), 1028.21);
    EXPECT_DOUBLE_EQ(table.rules[0].gain.value(), 1042.87 / 1028.21);
    EXPECT_FALSE(table.rules[1].tie);
    EXPECT_TRUE(table.rules[1].measured);
  }
}

TEST(ChooseTableTest, OneWinnerIsOneRow) {
  std::vector<SweepRow> rows;
  for (std::uint64_t bytes = 4; bytes <= 131072; bytes *= 2) {
    rows.push_back(MadeUpRow("one_shot", bytes, 10 + 0.001 * static_cast<double>(bytes)));
    rows.push_back(MadeUpRow("two_shot", bytes, 20 + 0.002 * static_cast<double>(bytes)));
  }
  EXPECT_THAT(Ranges(ChooseTable(TableOf(rows))), ::testing::ElementsAre("one_shot 0.."));
}

TEST(ChooseTableTest, WithinNoiseThePreviousOneStaysAndTheSimplerOneBegins) {
  std::vector<SweepRow> rows;
  for (const std::uint64_t bytes : {64, 128, 256}) {
    for (int launch = 0; launch < 6; ++launch) {
      // The faster one of the two changes from launch to launch, by 20 %, and is mostly ll.
      SweepRow plain = MadeUpRow("ring", bytes, launch % 3 == 0 ? 10 : 12, launch);
      SweepRow packets = MadeUpRow("ring", bytes, launch % 3 == 0 ? 12 : 10, launch);
      packets.protocol = "ll";
      rows.push_back(plain);
      rows.push_back(packets);
    }
  }
  const TuningTable table = ChooseTable(TableOf(rows));
  ASSERT_EQ(table.rules.size(), 1U);
  EXPECT_TRUE(table.rules[0].tie);
  // ll's median is better by 20 %, so that it begins; nothing makes it end.
  EXPECT_EQ(table.rules[0].protocol, "ll");

  for (SweepRow& row : rows) row.time_us_median = row.launch % 2 == 0 ? 10.0 : 10.1;
  const TuningTable equal = ChooseTable(TableOf(rows));
  ASSERT_EQ(equal.rules.size(), 1U);
  EXPECT_TRUE(equal.rules[0].tie);
  EXPECT_EQ(equal.rules[0].protocol, "simple") << "as fast as ll, and simpler";
}

TEST(ChooseTableTest, OverlappingIntervalsOfOneLaunchAreATie) {
  SweepRow before = MadeUpRow("one_shot", 64, 10);
  SweepRow before_other = MadeUpRow("two_shot", 64, 30);
  SweepRow kept = MadeUpRow("one_shot", 128, 11);
  SweepRow faster = MadeUpRow("two_shot", 128, 10);
  kept.time_us_ci_low = 9.5;
  kept.time_us_ci_high = 12;
  faster.time_us_ci_low = 9;
  faster.time_us_ci_high = 11;
  EXPECT_THAT(Ranges(ChooseTable(TableOf({before, before_other, kept, faster}))),
              ::testing::ElementsAre("one_shot 0.."));
  faster.time_us_ci_high = 9.4;
  faster.time_us_ci_low = 9;
  EXPECT_THAT(Ranges(ChooseTable(TableOf({before, before_other, kept, faster}))),
              ::testing::ElementsAre("one_shot 0..64", "two_shot 65.."));
}

TEST(ChooseTableTest, BetweenFarSizesTheCurvesOfTheChoicesDecide) {
  // 10 + n/100 and 30 + n/1000 meet at 2222 bytes, the powers of n through their ends at 310: their
  // geometric means are equal within 1 % at 1024.
  std::vector<SweepRow> rows;
  for (const std::uint64_t bytes : {16, 65536}) {
    rows.push_back(MadeUpRow("one_shot", bytes, 10 + static_cast<double>(bytes) / 100));
    rows.push_back(MadeUpRow("two_shot", bytes, 30 + static_cast<double>(bytes) / 1000));
  }
  EXPECT_THAT(Ranges(ChooseTable(TableOf(rows))),
              ::testing::ElementsAre("one_shot 0..1024", "two_shot 1025.."));
  EXPECT_THAT(Ranges(ChooseTable(TableOf(rows), {.decides_between = false})),
              ::testing::ElementsAre("one_shot 0..16", "two_shot 17.."));
  for (const std::uint64_t bytes : {16, 65536}) rows.push_back(MadeUpRow("ring", bytes, 1e6));
  rows.push_back(MadeUpRow("naive_root", 16, 20));  // the best in between only
  rows.push_back(MadeUpRow("naive_root", 65536, 150));
  const TuningTable table = ChooseTable(TableOf(rows));
  ASSERT_EQ(table.rules.size(), 3U);
  EXPECT_EQ(table.rules[1].algorithm, "naive_root");
  EXPECT_TRUE(table.rules[1].measured) << "rows of this shape are at both sides";
}

TEST(ChooseTableTest, AChoiceThatWasNotMeasuredAtSmallSizesIsAsFastThereAsItsSchedule) {
  // Non-temporal stores are tried from 64K on only; they move twice as much a second.
  std::vector<SweepRow> rows;
  for (const std::uint64_t bytes : {64, 65536}) {
    const auto size = static_cast<double>(bytes);
    rows.push_back(MadeUpRow("one_shot", bytes, 1 + size / 1000));
    rows.push_back(MadeUpRow("ring", bytes, 5 + size / 1500));
  }
  rows.push_back(MadeUpRow("one_shot", 65536, 1 + 65536.0 / 2000));
  rows.back().parameters = "slices=2;store=non_temporal";
  const TuningTable table = ChooseTable(TableOf(rows));
  EXPECT_EQ(table.rules.back().parameters, "store=non_temporal");
  EXPECT_EQ(table.rules.back().min_bytes, 65U);
}

TEST(ChooseTableTest, AChoiceEndsWhereNobodyMeasuredItAnyMore) {
  std::vector<SweepRow> rows = {MadeUpRow("one_shot", 64, 5), MadeUpRow("ring", 64, 10),
                                MadeUpRow("ring", 128, 11)};
  EXPECT_THAT(Ranges(ChooseTable(TableOf(rows))),
              ::testing::ElementsAre("one_shot 0..64", "ring 65.."));
}

TEST(ChooseTableTest, ASlowLaunchCountsAgainstNobody) {
  // Three of five launches ran on a machine twice as slow; the slower choice was in those that were
  // not, mostly.
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 5; ++launch) {
    const double slow = launch < 3 ? 2 : 1;
    rows.push_back(MadeUpRow("ring", 64, 10 * slow, launch));
    if (launch > 0) rows.push_back(MadeUpRow("one_shot", 64, 11 * slow, launch));
    rows.push_back(MadeUpRow("two_shot", 64, 30 * slow, launch));
  }
  EXPECT_THAT(Ranges(ChooseTable(TableOf(rows))), ::testing::ElementsAre("ring 0.."));
}

TEST(ChooseTableTest, DegenerateInput) {
  EXPECT_TRUE(ChooseTable({}).rules.empty());
  EXPECT_THAT(Ranges(ChooseTable(TableOf({MadeUpRow("ring", 64, 5)}))),
              ::testing::ElementsAre("ring 0.."));
  const TuningTable one = ChooseTable(TableOf({MadeUpRow("ring", 64, 5)}));
  EXPECT_FALSE(one.rules[0].gain.has_value()) << "there is no other choice";
  EXPECT_FALSE(one.rules[0].tie);
}

TEST(MeasuredTablesTest, RowsThatTellNothingDoNotCount) {
  std::vector<SweepRow> rows(8, MadeUpRow("ring", 64, 5));
  rows[0].time_us_median = std::nan("");
  rows[1].time_us_median = 0;
  rows[2].time_us_median.reset();
  rows[3].status = Status::kWrongData;
  rows[4].groups = "MOD:2/0";
  rows[5].buffers = "hot";
  rows[6].root = 1;
  rows[7].graph = 16;
  const std::vector<RunRecords> runs = {{.sweep = rows}};
  EXPECT_TRUE(MeasuredTables(runs).empty());
}

TEST(MeasuredTablesTest, SlicesTellChoicesApartOnlyWhereALaunchHasSeveral) {
  std::vector<SweepRow> rows = {MadeUpRow("one_shot", 64, 5), MadeUpRow("one_shot", 1 << 20, 9),
                                MadeUpRow("ring", 64, 5), MadeUpRow("ring", 64, 6)};
  rows[1].parameters = "slices=4;store=cached";  // more data takes more slices
  rows[3].parameters = "slices=4;store=cached";  // asked for
  const MeasuredTable table = TableOf(rows);
  ASSERT_EQ(table.cells.at(64).size(), 3U);
  ASSERT_EQ(table.cells.at(1 << 20).size(), 1U);
  EXPECT_EQ(table.cells.at(1 << 20).begin()->first, ChoiceOf(rows[0]));
  EXPECT_TRUE(table.cells.at(64).contains(WithSlices(ChoiceOf(rows[2]), "2")));
  EXPECT_TRUE(table.cells.at(64).contains(WithSlices(ChoiceOf(rows[2]), "4")));
}

TEST(MeasuredTablesTest, LaunchesOfSeveralRunsAreSeveralAndImplementationsCanBeLeftOut) {
  const std::vector<RunRecords> runs = {
      {.sweep = {MadeUpRow("ring", 64, 5), MadeUpMpiRow(64, 7)}},
      {.sweep = {MadeUpRow("ring", 64, 6), MadeUpRow("ring", 64, 8)}}};
  const auto all = MeasuredTables(runs);
  ASSERT_EQ(all.size(), 1U);
  const CellTimes& cell = all[0].cells.at(64);
  ASSERT_EQ(cell.size(), 2U);
  const auto& ring = cell.begin()->second;
  ASSERT_EQ(ring.size(), 2U);
  EXPECT_DOUBLE_EQ(ring.at({1, 0}).us, 7) << "twice in a launch: the mean";
  EXPECT_EQ(MeasuredTables(runs, "mpi")[0].cells.at(64).size(), 1U);
  EXPECT_TRUE(MeasuredTables(runs, "nccl").empty());
}

}  // namespace
}  // namespace hockney
