// Outputs of ucx_perftest (tests/data/SOURCES.md), and its CSV as people save and break it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/check.h"
#include "tuner/import/link_rows.h"
#include "tuner/import/read_log.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Fact {
  const char* file = "";
  const char* test = "";
  std::uint64_t iterations = 0;  // of the first row
  double median_us = 0;
  double overall_us = 0;
  double last_median_us = 0;
  double last_overall_us = 0;
};

const Fact kFacts[] = {
    {"ucx_perftest-1.13.1-tag_lat-batch.csv", "tag_lat", 20000, 0.181, 0.182, 165.551, 170.901},
    {"ucx_perftest-1.13.1-tag_bw-batch.csv", "tag_bw", 20000, 0.040, 0.054, 162.084, 165.090},
    {"ucx_perftest-1.13.1-tag_lat-batch-table.log", "tag_lat", 20000, 0.160, 0.167, 165.276,
     167.145},
};

ImportedLog Read(const std::string& file) {
  return ReadLog(std::string(HOCKNEY_TEST_DATA) + "/" + file);
}

class UcxLogsTest : public ::testing::TestWithParam<Fact> {};

TEST_P(UcxLogsTest, IsReadAsPrinted) {
  const Fact& fact = GetParam();
  ImportedLog log = Read(fact.file);
  ASSERT_EQ(log.tables.size(), 1U);
  const std::vector<SweepRow> rows = CompleteRows(log.tables[0], {.nodes = 1});
  ASSERT_EQ(rows.size(), 7U);
  EXPECT_EQ(log.tables[0].format, "ucx_perftest");
  EXPECT_EQ(rows[0].samples, fact.iterations);
  EXPECT_EQ(rows[0].time_us_median, fact.median_us);
  EXPECT_EQ(rows[0].time_us_mean, fact.overall_us);
  EXPECT_EQ(rows.back().samples, 500U);
  EXPECT_EQ(rows.back().time_us_median, fact.last_median_us);
  EXPECT_EQ(rows.back().time_us_mean, fact.last_overall_us);
  std::uint64_t size = 8;
  for (const SweepRow& row : rows) {
    EXPECT_EQ(row.size_bytes, size);
    EXPECT_EQ(row.collective, Collective::kSendRecv);
    EXPECT_EQ(row.implementation, "ucx");
    EXPECT_EQ(row.ranks, 2);
    EXPECT_EQ(row.dtype, DataType::kUint8);
    EXPECT_EQ(FindParameter(row, "test"), fact.test);
    size *= 8;
  }
  const bool ping_pong = std::string(fact.test) == "tag_lat";
  EXPECT_EQ(LinkRowsOf(rows).size(), ping_pong ? 7U : 0U);
}

INSTANTIATE_TEST_SUITE_P(All, UcxLogsTest, ::testing::ValuesIn(kFacts));

TEST(UcxLogTest, WithoutABatchTheSizeIsAskedFor) {
  ImportedLog log = Read("ucx_perftest-1.13.1-tag_lat-8B.csv");
  ASSERT_EQ(log.tables.size(), 1U);
  ImportedTable copy = log.tables[0];
  EXPECT_THROW(CompleteRows(copy, {}), InputError);
  const std::vector<SweepRow> rows = CompleteRows(log.tables[0], {.size_bytes = 8});
  ASSERT_EQ(rows.size(), 1U) << "the interim line is no result";
  EXPECT_EQ(rows[0].size_bytes, 8U);
  EXPECT_EQ(rows[0].samples, 1000000U);
  EXPECT_EQ(rows[0].time_us_median, 0.617);
  EXPECT_EQ(rows[0].time_us_mean, 0.659) << "of all iterations, not since the last report";
}

std::string Refusal(const std::string& text) {
  try {
    ReadLogText("perf.csv", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "taken";
}

constexpr const char* kHead =
    "message_size,iterations,typical_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr";

// B30 of the public cases: such a row must not shift into wrong columns.
TEST(UcxLogTest, B30ShortRowsAreRefusedWithBothCounts) {
  EXPECT_THAT(Refusal(std::string(kHead) + "\n8,Final:    10000000,0.126,121.09,15871492\n"),
              AllOf(HasSubstr("perf.csv:2:1: expected 9 fields, found 5"),
                    HasSubstr("Final:    10000000")));
  EXPECT_THAT(Refusal(std::string(kHead) + "\n8,Final:  100,1,1,1,1,1,1,1\n"),
              HasSubstr("perf.csv:2:3: \"Final:  100\": expected a whole number"));
  EXPECT_THAT(Refusal("{\"size\": 8}{\"size\": 16}"), HasSubstr("perf.csv:1:"));
}

// B33: byte order mark, CR LF or CR alone, quotes, no end of the last line, an empty last field.
TEST(UcxLogTest, B33FilesAsPeopleSaveThem) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string text = "\xEF\xBB\xBF\"message_size\",\"avg_lat\",\"overall_lat\"" + end +
                             "8,1.5,1.5" + end + "16,2.5,\"\"";
    ImportedLog log = ReadLogText("perf.csv", text);
    ASSERT_EQ(log.tables.size(), 1U);
    const std::vector<SweepRow> rows = CompleteRows(log.tables[0], {});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].size_bytes, 8U);
    EXPECT_EQ(rows[0].time_us_mean, 1.5);
    EXPECT_EQ(rows[1].size_bytes, 16U);
    EXPECT_FALSE(rows[1].time_us_mean.has_value());
    EXPECT_NE(rows[1].status, Status::kOk);
  }
}

TEST(UcxLogTest, B33EmptyFilesAndOtherEncodingsAreRefused) {
  EXPECT_THAT(Refusal(""), HasSubstr("perf.csv:1:1: nothing in it"));
  EXPECT_THAT(Refusal(std::string(kHead) + "\n"), HasSubstr("perf.csv:1:1: no rows"));
  EXPECT_THAT(Refusal(std::string("\xFF\xFEs\0i\0z\0e\0", 10)), HasSubstr("UTF-16"));
  EXPECT_THAT(Refusal("hello\nworld\n"), HasSubstr("perf.csv:1:1: no table in it"));
}

TEST(UcxLogTest, B33RowsDoNotDependOnAReadersBlocks) {
  std::string text = std::string(kHead) + "\r\n";
  std::size_t rows = 0;
  for (; text.size() < (std::size_t{11} << 20); ++rows) {
    // Line ends move over every boundary of a block as the numbers grow; blanks save rows.
    text +=
        std::to_string(rows + 8) + "," + std::string(997, ' ') + "100,1.25,1.25,1.25,1,1,1,1\r\n";
  }
  ImportedLog log = ReadLogText("perf.csv", text);
  ASSERT_EQ(log.tables.size(), 1U);
  EXPECT_EQ(log.tables[0].rows.size(), rows);
  EXPECT_EQ(log.tables[0].rows.back().row.size_bytes, rows + 7);
}

}  // namespace
}  // namespace hockney
