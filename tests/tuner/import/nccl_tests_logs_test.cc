// Logs of nccl-tests and rccl-tests as people published them (tests/data/SOURCES.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/bandwidth.h"
#include "tuner/import/read_log.h"

namespace hockney {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A row as printed; errors below 0 stand for N/A and for columns that are no counts.
struct PrintedRow {
  std::uint64_t size_bytes = 0;
  double out_us = 0;
  double out_algbw = 0;
  double out_busbw = 0;
  int out_errors = 0;
  double in_us = 0;
  double in_algbw = 0;
  double in_busbw = 0;
  int in_errors = 0;
};

struct Fact {
  const char* file = "";
  std::size_t table = 0;
  const char* format = "";
  Collective collective = Collective::kAllReduce;
  DataType dtype = DataType::kFloat32;
  int ranks = 0;
  std::size_t lines = 0;
  double average = 0;  // 0: none printed
  double mean = 0;     // of all bus bandwidths
  PrintedRow first = {};
  PrintedRow last = {};
};

const Fact kFacts[] = {
    {"nccl-all_gather-16xH100-no-hash-na.log",
     0,
     "nccl-tests",
     Collective::kAllGather,
     DataType::kFloat32,
     16,
     11,
     146.948,
     146.9486,
     {8388608, 166.6, 50.34, 47.19, -1, 164.1, 51.11, 47.92, -1},
     {8589934592, 42713, 201.11, 188.54, -1, 42701, 201.16, 188.59, -1}},
    {"nccl-all_gather-8xA100-old-no-redop.log",
     0,
     "nccl-tests",
     Collective::kAllGather,
     DataType::kFloat32,
     8,
     34,
     58.2651,
     58.2647,
     {0, 34.27, 0.00, 0.00, -1, 33.57, 0.00, 0.00, -1},
     {8589934592, 33646, 255.31, 223.39, -1, 32669, 262.94, 230.07, -1}},
    {"nccl-all_reduce-16xA100-tagged-nccl-info.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     16,
     30,
     11.2432,
     11.2438,
     {8, 179.1, 0.00, 0.00, -1, 176.3, 0.00, 0.00, -1},
     {4294967296, 183834, 23.36, 43.81, -1, 184216, 23.31, 43.72, -1}},
    {"nccl-all_reduce-16xH100-rows-left-out.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     16,
     7,
     52.9753,
     208.6779,
     {0, 15.51, 0.00, 0.00, 0, 15.52, 0.00, 0.00, 0},
     {2147483648, 9197.5, 233.49, 437.79, 0, 9195.2, 233.54, 437.89, 0}},
    {"nccl-all_reduce-8xA100-old-error-na.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     8,
     34,
     68.4048,
     68.4044,
     {0, 35.20, 0.00, 0.00, -1, 34.05, 0.00, 0.00, -1},
     {8589934592, 63896, 134.44, 235.26, -1, 63959, 134.30, 235.03, -1}},
    {"nccl-all_reduce-8xH100-tagged-no-devices.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     8,
     32,
     156.742,
     156.7414,
     {8, 12.90, 0.00, 0.00, 0, 12.87, 0.00, 0.00, 0},
     {17179869184, 62239, 276.03, 483.05, 0, 62200, 276.20, 483.35, 0}},
    {"nccl-all_reduce-8xH100.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     8,
     32,
     159.151,
     159.1500,
     {8, 13.67, 0.00, 0.00, 0, 13.03, 0.00, 0.00, 0},
     {17179869184, 62648, 274.23, 479.90, 0, 62636, 274.28, 479.99, 0}},
    {"nccl-all_reduce-no-hash-rows-left-out.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     16,
     11,
     165.789,
     456.0023,
     {8388608, 156.9, 53.47, 100.25, 0, 167.6, 50.06, 93.86, 0},
     {8589934592, 23563, 364.55, 683.52, 0, 23702, 362.42, 679.54, 0}},
    {"nccl-all_reduce-srun-labels-two-runs-no-footer.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     16,
     29,
     0,
     18.5359,
     {8, 164.3, 0.00, 0.00, 0, 163.3, 0.00, 0.00, 0},
     {2147483648, 51406, 41.78, 78.33, 0, 51406, 41.77, 78.33, 0}},
    {"nccl-all_reduce-srun-labels-two-runs-no-footer.log",
     1,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     16,
     32,
     0,
     124.5356,
     {8, 69.12, 0.00, 0.00, 0, 72.43, 0.00, 0.00, 0},
     {17179869184, 66132, 259.78, 487.09, 0, 66109, 259.87, 487.26, 0}},
    {"nccl-alltoall-8xA100-old-empty-redop.log",
     0,
     "nccl-tests",
     Collective::kAllToAll,
     DataType::kFloat32,
     8,
     34,
     58.6481,
     58.6481,
     {0, 1.63, 0.00, 0.00, -1, 1.38, 0.00, 0.00, -1},
     {8589934592, 33508, 256.36, 224.31, -1, 33234, 258.47, 226.16, -1}},
    {"nccl-several-tests-10xH100-double-appended.log",
     0,
     "nccl-tests",
     Collective::kAllReduce,
     DataType::kFloat64,
     10,
     10,
     47.8165,
     47.8170,
     {33554432, 1405.25, 23.88, 42.98, 0, 1406.35, 23.86, 42.95, 0},
     {17179869184, 632480, 27.16, 48.89, 0, 632577, 27.16, 48.89, 0}},
    {"nccl-several-tests-10xH100-double-appended.log",
     1,
     "nccl-tests",
     Collective::kAllGather,
     DataType::kFloat64,
     10,
     10,
     46.7949,
     46.7950,
     {33554400, 721.94, 46.48, 41.83, 0, 687.61, 48.80, 43.92, 0},
     {17179869120, 321112, 53.50, 48.15, 0, 317424, 54.12, 48.71, 0}},
    {"nccl-several-tests-10xH100-double-appended.log",
     2,
     "nccl-tests",
     Collective::kReduceScatter,
     DataType::kFloat64,
     10,
     10,
     47.1335,
     47.1330,
     {33554400, 710.67, 47.21, 42.49, 0, 684.49, 49.02, 44.12, 0},
     {17179869120, 316586, 54.27, 48.84, 0, 317130, 54.17, 48.76, 0}},
    {"nccl-several-tests-10xH100-double-appended.log",
     3,
     "nccl-tests",
     Collective::kAllToAll,
     DataType::kFloat64,
     10,
     10,
     43.6048,
     43.6050,
     {33554400, 792.60, 42.33, 38.10, 0, 762.45, 44.01, 39.61, -1},
     {17179869120, 346210, 49.62, 44.66, 0, 345521, 49.72, 44.75, -1}},
    {"nccl-several-tests-10xH100-double-appended.log",
     4,
     "nccl-tests",
     Collective::kSendRecv,
     DataType::kFloat64,
     10,
     10,
     24.7624,
     24.7620,
     {33554432, 1400.87, 23.95, 23.95, 0, 1373.59, 24.43, 24.43, -1},
     {17179869184, 691104, 24.86, 24.86, 0, 690729, 24.87, 24.87, -1}},
    {"rccl-all_reduce-16xMI300X.log",
     0,
     "rccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     16,
     32,
     92.3318,
     92.3311,
     {8, 256.5, 0.00, 0.00, 0, 254.7, 0.00, 0.00, 0},
     {17179869184, 90115, 190.64, 357.46, 0, 90127, 190.62, 357.41, 0}},
    {"rccl-all_reduce-16xMI355X-truncated.log",
     0,
     "rccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     16,
     31,
     0,
     100.3206,
     {8, 41.16, 0.00, 0.00, 0, 39.80, 0.00, 0.00, 0},
     {8589934592, 43643, 196.82, 369.04, 0, 43639, 196.84, 369.08, 0}},
    {"rccl-all_reduce-8xMI300X.log",
     0,
     "rccl-tests",
     Collective::kAllReduce,
     DataType::kFloat32,
     8,
     31,
     110.464,
     110.4635,
     {8, 19.28, 0.00, 0.00, 0, 17.24, 0.00, 0.00, 0},
     {8589934592, 47617, 180.40, 315.69, 0, 47584, 180.52, 315.91, 0}},
};

ImportedLog Read(const std::string& file) {
  return ReadLog(std::string(HOCKNEY_TEST_DATA) + "/" + file);
}

void ExpectSide(const SweepRow& row, double us, double algbw, double busbw, int errors) {
  EXPECT_EQ(row.time_us_mean, us);
  EXPECT_EQ(row.time_us_median, us);
  EXPECT_FALSE(row.time_us_ci_low.has_value());
  // Times have three digits or more, rates two decimals.
  EXPECT_NEAR(row.algbw_GBps.value_or(-1), algbw, 0.005 + 1e-3 * algbw);
  EXPECT_NEAR(row.busbw_GBps.value_or(-1), busbw, 0.01 + 1e-3 * busbw);
  EXPECT_EQ(row.status, Status::kOk);
  if (errors < 0) {
    EXPECT_FALSE(row.errors.has_value());
  } else {
    EXPECT_EQ(row.errors, static_cast<std::uint64_t>(errors));
  }
}

void ExpectLine(const SweepRow& out, const SweepRow& in, const PrintedRow& printed) {
  EXPECT_EQ(out.size_bytes, printed.size_bytes);
  EXPECT_EQ(in.size_bytes, printed.size_bytes);
  EXPECT_EQ(out.in_place, false);
  EXPECT_EQ(in.in_place, true);
  ExpectSide(out, printed.out_us, printed.out_algbw, printed.out_busbw, printed.out_errors);
  ExpectSide(in, printed.in_us, printed.in_algbw, printed.in_busbw, printed.in_errors);
}

class NcclTestsLogsTest : public ::testing::TestWithParam<Fact> {};

TEST_P(NcclTestsLogsTest, IsReadAsPrinted) {
  const Fact& fact = GetParam();
  ImportedLog log = Read(fact.file);
  EXPECT_THAT(log.notes, ::testing::IsEmpty());
  ASSERT_GT(log.tables.size(), fact.table);
  ImportedTable& table = log.tables[fact.table];
  const std::vector<SweepRow> rows = CompleteRows(table, {});
  EXPECT_EQ(table.format, fact.format);
  EXPECT_EQ(table.collectives, std::vector<Collective>{fact.collective});
  EXPECT_EQ(table.ranks, fact.ranks);
  EXPECT_EQ(table.lines, fact.lines);
  ASSERT_EQ(rows.size(), 2 * fact.lines);
  ExpectLine(rows[0], rows[1], fact.first);
  ExpectLine(rows[rows.size() - 2], rows.back(), fact.last);
  if (fact.average > 0) {
    EXPECT_EQ(table.average_busbw, fact.average);
  } else {
    EXPECT_FALSE(table.average_busbw.has_value());
  }
  double sum = 0;
  for (const ImportedRow& row : table.rows) sum += row.busbw->value;
  EXPECT_NEAR(sum / static_cast<double>(rows.size()), fact.mean, 6e-5);
  for (const SweepRow& row : rows) {
    EXPECT_EQ(row.collective, fact.collective);
    EXPECT_EQ(row.implementation, "nccl");
    EXPECT_EQ(row.dtype, fact.dtype);
    EXPECT_EQ(row.ranks, fact.ranks);
    EXPECT_EQ(row.size_bytes, SizeBytes(fact.collective, *row.count, fact.dtype, fact.ranks));
    EXPECT_EQ(row.op.has_value(), Reduces(fact.collective));
    EXPECT_EQ(FindParameter(row, "statistic"), "mean");
  }
  const double mean = fact.average > 0 ? fact.average : fact.mean;
  const bool complete = std::abs(fact.mean - mean) < 0.01;
  const auto warned = Contains(HasSubstr("rows were left out or changed"));
  if (complete) {
    EXPECT_THAT(table.notes, ::testing::Not(warned));
  } else {
    EXPECT_THAT(table.notes, warned);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NcclTestsLogsTest, ::testing::ValuesIn(kFacts));

// Completes the only table of the file.
ImportedTable Only(const std::string& file, std::vector<SweepRow>* rows) {
  ImportedLog log = Read(file);
  EXPECT_EQ(log.tables.size(), 1U);
  *rows = CompleteRows(log.tables[0], {});
  return log.tables[0];
}

TEST(NcclTestsLogTest, DevicesTellNodesAndTheRatesRanks) {
  std::vector<SweepRow> rows;
  ImportedTable table = Only("nccl-all_reduce-16xA100-tagged-nccl-info.log", &rows);
  EXPECT_EQ(table.ranks_from, "device lines");
  EXPECT_EQ(rows[0].nodes, 2);
  EXPECT_EQ(rows[0].samples, 100U);
  EXPECT_EQ(table.library, "NCCL 2.9.9");
  table = Only("nccl-all_reduce-8xH100-tagged-no-devices.log", &rows);
  EXPECT_EQ(table.ranks_from, "busbw/algbw");
  EXPECT_FALSE(rows[0].nodes.has_value());
  EXPECT_EQ(rows[0].samples, 0U) << "no line says how many";
}

TEST(NcclTestsLogTest, LibrariesAndVersionsAreThoseTheLogNames) {
  ImportedLog log = Read("nccl-several-tests-10xH100-double-appended.log");
  ASSERT_EQ(log.tables.size(), 5U);
  for (ImportedTable& table : log.tables) {
    const std::vector<SweepRow> rows = CompleteRows(table, {});
    EXPECT_EQ(table.version, "2.17.8");
    EXPECT_EQ(table.library, "NCCL 2.29.2");
    EXPECT_EQ(rows[0].parameters, "library=NCCL 2.29.2;statistic=mean");
    EXPECT_EQ(rows[0].nodes, 10);
    EXPECT_EQ(rows[0].samples, 20U);
  }
  std::vector<SweepRow> rows;
  const ImportedTable rccl = Only("rccl-all_reduce-16xMI300X.log", &rows);
  EXPECT_EQ(rccl.version, "develop:448c4c7");
  EXPECT_EQ(rows[0].parameters, "library=RCCL 2.22.3;statistic=mean");
}

TEST(NcclTestsLogTest, WhatIsOddIsSaid) {
  std::vector<SweepRow> rows;
  EXPECT_THAT(Only("nccl-all_reduce-16xH100-rows-left-out.log", &rows).notes,
              Contains(HasSubstr(":5: rows were left out here")));
  EXPECT_THAT(Only("rccl-all_reduce-16xMI355X-truncated.log", &rows).notes,
              Contains(HasSubstr("may have been cut")));
  EXPECT_THAT(Only("nccl-all_reduce-16xA100-tagged-nccl-info.log", &rows).notes,
              Contains(HasSubstr("not a count")));
  EXPECT_THAT(Only("nccl-all_reduce-8xH100.log", &rows).notes, ::testing::IsEmpty());
}

}  // namespace
}  // namespace hockney
