#include "bench/export_gain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SweepRow Row(std::int64_t launch, std::uint64_t size, double us) {
  SweepRow row;
  row.launch = launch;
  row.implementation = "mpi";
  row.algorithm = "default";
  row.ranks = 4;
  row.size_bytes = size;
  row.time_us_median = us;
  return row;
}

// The report with single blanks: its columns are padded.
std::string TextOf(const GainReport& report) {
  std::string text;
  for (const char c : report.text) {
    if (c != ' ' || !text.ends_with(' ')) text += c;
  }
  return text;
}

// all_reduce of 4 ranks: ring from 1024 bytes on.
OmpiRules Rules() { return ReadOmpiRules("x", "1\n2 2\n0 1\n0 0 0 0\n4 2\n0 0 0 0\n1024 4 0 0\n"); }

TEST(ExportGainTest, AGainIsTheMedianOverPairsOfLaunches) {
  std::vector<SweepRow> without;
  std::vector<SweepRow> with;
  // 1 KiB: twice as fast in each pair, although launches differ tenfold. 8 B: a quarter slower.
  for (int launch = 0; launch < 5; ++launch) {
    const double slow = launch == 2 ? 10 : 1;
    without.push_back(Row(launch, 1024, 40 * slow));
    with.push_back(Row(launch, 1024, 20 * slow));
    without.push_back(Row(launch, 8, 3));
    with.push_back(Row(launch, 8, 4));
  }
  const GainReport report = ReportExportGain(without, with, Rules());
  EXPECT_EQ(report.cells_compared, 2U);
  EXPECT_THAT(TextOf(report),
              HasSubstr("| all_reduce | 4 | 8 | its own choice | 3.00 | 4.00 | 0.750 "
                        "| 0.750..0.750 | slower | 5 |"));
  EXPECT_THAT(TextOf(report), HasSubstr("| all_reduce | 4 | 1K | ring | 40.00 | 20.00 | 2.000 | "
                                        "2.000..2.000 | faster | 5 |"));
  // sqrt(2 * 0.75)
  EXPECT_THAT(report.text, HasSubstr("mean of all: 1.225 (1.225..1.225), 2 sizes"));
  EXPECT_THAT(report.text, Not(HasSubstr("fewer than 5")));
}

TEST(ExportGainTest, OnlyTheDefaultRowsOfBothSidesCount) {
  std::vector<SweepRow> without = {Row(0, 8, 3), Row(0, 64, 5), Row(1, 8, 3)};
  std::vector<SweepRow> with = {Row(0, 8, 3)};
  without.push_back(Row(0, 8, 1));
  without.back().implementation = "hockney";
  without.push_back(Row(0, 8, 1));
  without.back().algorithm = "ring";
  const GainReport report = ReportExportGain(without, with, Rules());
  EXPECT_EQ(report.cells_compared, 1U);
  EXPECT_THAT(TextOf(report), HasSubstr("| 1.000 | 1.000..1.000 | not told apart | 1 |"));
  EXPECT_THAT(report.text, HasSubstr("fewer than 5 launches"));
}

TEST(ExportGainTest, RowsThatFailedAreNamed) {
  std::vector<SweepRow> without = {Row(0, 8, 3)};
  std::vector<SweepRow> with = {Row(0, 8, 3), Row(1, 8, 3)};
  with[1].status = Status::kWrongData;
  with[1].reason = "one element";
  EXPECT_THAT(ReportExportGain(without, with, Rules()).text,
              HasSubstr("- with the rules, all_reduce of 8 in launch 1: wrong_data: one element"));
  EXPECT_EQ(ReportExportGain({}, with, Rules()).cells_compared, 0U);
}

TEST(ExportGainTest, TheCollectivesOfTheRulesAreThoseToMeasure) {
  EXPECT_THAT(CollectivesOf(Rules()), ElementsAre(Collective::kAllReduce));
}

}  // namespace
}  // namespace hockney
