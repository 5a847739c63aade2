// Outputs of OSU micro-benchmarks and Intel MPI Benchmarks (tests/data/SOURCES.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "tuner/import/link_rows.h"
#include "tuner/import/read_log.h"

namespace hockney {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

ImportedLog Read(const std::string& file) {
  return ReadLog(std::string(HOCKNEY_TEST_DATA) + "/" + file);
}

std::vector<double> NumbersOf(const std::string& text) {
  std::istringstream words(text);
  std::vector<double> numbers;
  for (double number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

// What one block of these collectives is to nccl-tests' size.
int BlocksOf(Collective collective, int ranks) {
  return collective == Collective::kAllGather || collective == Collective::kAllToAll ? ranks : 1;
}

struct OsuFact {
  const char* file = "";
  std::size_t table = 0;
  DataType dtype = DataType::kInt8;
  int ranks = 0;
  std::size_t rows = 0;
  const char* first = "";
  const char* last = "";
  double busbw = 0;  // of the last row; 0: none
};

const OsuFact kOsuFacts[] = {
    {"osu-5.3-ompi-np2-allreduce-full.log", 0, DataType::kFloat32, 2, 19, "4 0.31 0.29 0.32 1000",
     "1048576 183.15 183.11 183.18 100", 5.73},
    {"osu-5.3-ompi-np2-bw.log", 0, DataType::kInt8, 2, 23, "1 15.53", "4194304 12771.33", 0},
    {"osu-5.3-ompi-np2-latency.log", 0, DataType::kInt8, 2, 24, "0 0.12", "4194304 393.74", 10.65},
    {"osu-7.4-mpich-np2-allreduce-full.log", 0, DataType::kInt8, 2, 23, "1 1.00 0.80 1.21 1000",
     "4194304 2602.64 2602.27 2603.02 100", 1.61},
    {"osu-7.4-mpich-np2-allreduce.log", 0, DataType::kInt8, 2, 21, "1 0.99", "1048576 766.02",
     1.37},
    {"osu-7.4-np2-allreduce-two-runs-appended.log", 0, DataType::kInt8, 2, 21,
     "4 0.37 0.36 0.37 1000", "4194304 1470.54 1414.11 1526.97 100", 2.85},
    {"osu-7.4-np2-allreduce-two-runs-appended.log", 1, DataType::kInt8, 2, 21,
     "4 0.77 0.70 0.84 1000", "4194304 4504.83 4449.61 4560.05 100", 0.93},
    {"osu-7.4-ompi-np2-allgather-full.log", 0, DataType::kInt8, 2, 23, "1 0.25 0.25 0.25 1000",
     "4194304 612.05 611.67 612.42 100", 6.85},
    {"osu-7.4-ompi-np2-allreduce-full.log", 0, DataType::kInt8, 2, 23, "1 0.26 0.25 0.28 1000",
     "4194304 581.02 580.96 581.09 100", 7.22},
    {"osu-7.4-ompi-np2-allreduce-three-types.log", 0, DataType::kInt8, 2, 15, "4 0.41",
     "65536 17.47", 3.75},
    {"osu-7.4-ompi-np2-allreduce-three-types.log", 1, DataType::kInt32, 2, 15, "4 0.24",
     "65536 17.18", 3.81},
    {"osu-7.4-ompi-np2-allreduce-three-types.log", 2, DataType::kFloat32, 2, 15, "4 0.30",
     "65536 17.69", 3.70},
    {"osu-7.4-ompi-np2-allreduce-validation-failed.log", 0, DataType::kInt8, 2, 5,
     "1 0.27 0.27 0.27 1000 Pass", "16 0.29 0.29 0.29 1000 Fail", 0},
    {"osu-7.4-ompi-np2-allreduce.log", 0, DataType::kInt8, 2, 21, "1 0.29", "1048576 153.82", 6.82},
    {"osu-7.4-ompi-np2-alltoall-full.log", 0, DataType::kInt8, 2, 23, "1 0.26 0.24 0.28 1000",
     "4194304 887.04 874.73 899.35 100", 4.73},
    {"osu-7.4-ompi-np2-bcast-full.log", 0, DataType::kInt8, 2, 23, "1 0.16 0.07 0.25 1000",
     "4194304 330.43 330.22 330.64 100", 12.69},
    {"osu-7.4-ompi-np2-bibw.log", 0, DataType::kInt8, 2, 23, "1 19.14", "4194304 23156.49", 0},
    {"osu-7.4-ompi-np2-bw.log", 0, DataType::kInt8, 2, 23, "1 16.49", "4194304 12599.90", 0},
    {"osu-7.4-ompi-np2-latency-tail.log", 0, DataType::kInt8, 2, 23, "1 0.14 0.14 0.16 0.19",
     "4194304 440.57 428.74 500.85 572.90", 9.52},
    {"osu-7.4-ompi-np2-latency.log", 0, DataType::kInt8, 2, 23, "1 0.14", "4194304 401.80", 10.44},
    {"osu-7.4-ompi-np2-mbw_mr.log", 0, DataType::kInt8, 2, 23, "1 14.76 14756029.80",
     "4194304 12894.96 3074.40", 0},
    {"osu-7.4-ompi-np2-reduce_scatter-full.log", 0, DataType::kInt8, 2, 23, "1 0.24 0.22 0.25 1000",
     "4194304 535.22 527.97 542.48 100", 3.92},
    {"osu-7.4-ompi-np4-allreduce-full.log", 0, DataType::kInt8, 4, 21, "1 4.77 3.03 6.62 1000",
     "1048576 1595.78 1514.81 1667.93 100", 0.99},
    {"osu-7.4-ompi-np4-alltoall.log", 0, DataType::kInt8, 4, 21, "1 4.67", "1048576 1002.29", 3.14},
    {"osu-7.4-ompi-np4-bcast-full.log", 0, DataType::kInt8, 4, 21, "1 0.39 0.10 1.17 1000",
     "1048576 204.29 86.57 286.15 100", 5.13},
    {"osu-7.4-ompi-np4-reduce_scatter.log", 0, DataType::kInt8, 4, 21, "1 2.22", "1048576 255.05",
     3.08},
};

// The time that a row of numbers means, by its file's name.
double OsuTime(const std::string& file, const std::vector<double>& row) {
  if (file.find("bibw") != file.npos) return 2 * row[0] / row[1];
  if (file.find("bw") != file.npos) return row[0] / row[1];
  return row[1];
}

void ExpectOsuRow(const OsuFact& fact, const SweepRow& row, const std::string& text) {
  const std::string file = fact.file;
  const std::vector<double> numbers = NumbersOf(text);
  EXPECT_EQ(row.size_bytes, static_cast<std::uint64_t>(numbers[0]) *
                                static_cast<std::uint64_t>(BlocksOf(row.collective, fact.ranks)));
  EXPECT_DOUBLE_EQ(row.time_us_mean.value_or(-1), OsuTime(file, numbers));
  const bool tail = file.find("tail") != file.npos;
  EXPECT_DOUBLE_EQ(row.time_us_median.value_or(-1), tail ? numbers[2] : OsuTime(file, numbers));
  if (tail) {
    EXPECT_EQ(row.time_us_p99, numbers[4]);
  }
  if (!tail && numbers.size() == 5) {
    EXPECT_EQ(row.samples, numbers[4]);
  }
}

class OsuLogsTest : public ::testing::TestWithParam<OsuFact> {};

TEST_P(OsuLogsTest, IsReadAsPrinted) {
  const OsuFact& fact = GetParam();
  ImportedLog log = Read(fact.file);
  ASSERT_GT(log.tables.size(), fact.table);
  ImportedTable& table = log.tables[fact.table];
  const std::vector<SweepRow> rows =
      CompleteRows(table, {.ranks = fact.ranks, .library = "Open MPI 4.1.4"});
  EXPECT_EQ(table.format, "OSU");
  ASSERT_EQ(rows.size(), fact.rows);
  ExpectOsuRow(fact, rows[0], fact.first);
  ExpectOsuRow(fact, rows.back(), fact.last);
  for (const SweepRow& row : rows) {
    EXPECT_EQ(row.implementation, "mpi");
    EXPECT_EQ(row.ranks, fact.ranks);
    EXPECT_EQ(row.dtype, fact.dtype);
    EXPECT_EQ(row.in_place, false);
    EXPECT_EQ(FindParameter(row, "library"), "Open MPI 4.1.4");
  }
  if (fact.busbw > 0) {
    EXPECT_NEAR(rows.back().busbw_GBps.value_or(-1), fact.busbw, 0.006);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OsuLogsTest, ::testing::ValuesIn(kOsuFacts));

TEST(OsuLogTest, TablesOfOneFileAreNeverOneSeries) {
  EXPECT_EQ(Read("osu-7.4-ompi-np2-allreduce-three-types.log").tables.size(), 3U);
  EXPECT_EQ(Read("osu-7.4-np2-allreduce-two-runs-appended.log").tables.size(), 2U);
}

TEST(OsuLogTest, ARowThatFailedItsValidationIsWrongData) {
  ImportedLog log = Read("osu-7.4-ompi-np2-allreduce-validation-failed.log");
  const std::vector<SweepRow> rows =
      CompleteRows(log.tables[0], {.ranks = 2, .library = "Open MPI 4.1.4"});
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) EXPECT_EQ(rows[i].status, Status::kOk);
  EXPECT_EQ(rows.back().status, Status::kWrongData);
  EXPECT_EQ(rows.back().size_bytes, 16U);
}

TEST(OsuLogTest, WhatTheLogDoesNotSayIsAskedFor) {
  ImportedLog log = Read("osu-7.4-ompi-np4-alltoall.log");
  const auto refusal = [&](const ImportAnswers& answers) {
    ImportedTable table = log.tables[0];
    try {
      CompleteRows(table, answers);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(refusal({.library = "MPICH 4.0.2"}), HasSubstr("alltoall.log:4:1: "));
  EXPECT_THAT(refusal({.library = "MPICH 4.0.2"}), HasSubstr("expected --ranks N"));
  EXPECT_THAT(refusal({.ranks = 4}), HasSubstr("expected --library NAME"));
}

TEST(OsuLogTest, PairsTellTheirRanksAndTests) {
  std::set<std::string> tests;
  for (const char* test : {"bw", "bibw", "mbw_mr", "latency"}) {
    ImportedLog log = Read(std::string("osu-7.4-ompi-np2-") + test + ".log");
    const std::vector<SweepRow> rows = CompleteRows(log.tables[0], {.library = "Open MPI 4.1.4"});
    EXPECT_EQ(rows[0].collective, Collective::kSendRecv);
    EXPECT_EQ(rows[0].ranks, 2);
    EXPECT_EQ(FindParameter(rows[0], "test"), test);
    tests.insert(VariantOf(rows[0]));
    // Only half a round trip is the time of one message.
    EXPECT_EQ(LinkRowsOf(rows).size(), 0U) << "no log says where the ranks were";
    log = Read(std::string("osu-7.4-ompi-np2-") + test + ".log");
    const auto links =
        LinkRowsOf(CompleteRows(log.tables[0], {.nodes = 2, .library = "Open MPI 4.1.4"}));
    ASSERT_EQ(links.size(), std::string(test) == "latency" ? 23U : 0U);
    if (links.empty()) continue;
    EXPECT_EQ(links.back().level, "fabric");
    EXPECT_EQ(links.back().time_us_median, 401.80);
    EXPECT_EQ(links.back().size_bytes, 4194304U);
  }
  EXPECT_EQ(tests.size(), 4U) << "fits keep them apart";
}

struct ImbFact {
  const char* file = "";
  std::size_t table = 0;
  const char* benchmark = "";
  int ranks = 0;
  std::size_t rows = 0;
  const char* first = "";
  const char* last = "";
  double busbw = 0;
};

const ImbFact kImbFacts[] = {
    {"imb-2021.11-mpich-np2-allreduce.log", 0, "Allreduce", 2, 22, "0 1000 0.64 1.59 1.11",
     "4194304 10 2088.88 2089.19 2089.04", 2.01},
    {"imb-2021.11-mpich-np4-allreduce-time-out.log", 0, "Allreduce", 2, 22, "0 100 0.65 1.31 0.98",
     "4194304 10 7694.70 7918.96 7806.83", 0.54},
    {"imb-2021.11-mpich-np4-allreduce-time-out.log", 1, "Allreduce", 4, 12,
     "0 100 1.53 8078.37 3020.85", "4096 100 10592.50 11184.42 10940.87", 0},
    {"imb-2021.11-ompi-np2-allgather.log", 0, "Allgather", 2, 24, "0 1000 0.07 0.08 0.07",
     "4194304 10 516.25 533.23 524.74", 7.99},
    {"imb-2021.11-ompi-np2-allreduce-npmin2.log", 0, "Allreduce", 2, 22, "0 1000 0.03 0.04 0.03",
     "4194304 10 2446.00 2446.31 2446.16", 1.71},
    {"imb-2021.11-ompi-np2-allreduce-tagged.log", 0, "Allreduce", 2, 22, "0 1000 0.08 0.08 0.08",
     "4194304 10 2311.17 2311.77 2311.47", 1.81},
    {"imb-2021.11-ompi-np2-allreduce.log", 0, "Allreduce", 2, 22, "0 1000 0.04 0.07 0.06",
     "4194304 10 2354.21 2354.69 2354.45", 1.78},
    {"imb-2021.11-ompi-np2-alltoall.log", 0, "Alltoall", 2, 24, "0 1000 0.04 0.07 0.06",
     "4194304 10 714.99 722.88 718.94", 5.83},
    {"imb-2021.11-ompi-np2-bcast.log", 0, "Bcast", 2, 24, "0 1000 0.06 0.07 0.07",
     "4194304 10 323.16 323.43 323.30", 12.97},
    {"imb-2021.11-ompi-np2-five-benchmarks.log", 0, "PingPong", 2, 18, "0 1000 0.37 0.00",
     "65536 640 7.48 8763.93", 8.76},
    {"imb-2021.11-ompi-np2-five-benchmarks.log", 1, "Sendrecv", 2, 18, "0 1000 0.40 0.40 0.40 0.00",
     "65536 640 9.14 9.14 9.14 14337.69", 0},
    {"imb-2021.11-ompi-np2-five-benchmarks.log", 2, "Allreduce", 2, 16, "0 1000 0.03 0.03 0.03",
     "65536 640 47.35 47.65 47.50", 1.38},
    {"imb-2021.11-ompi-np2-five-benchmarks.log", 3, "Bcast", 2, 18, "0 1000 0.03 0.03 0.03",
     "65536 640 6.99 7.90 7.44", 8.81},
    {"imb-2021.11-ompi-np2-five-benchmarks.log", 4, "Barrier", 2, 1, "1000 0.45 0.45 0.45",
     "1000 0.45 0.45 0.45", 0},
    {"imb-2021.11-ompi-np2-pingpong.log", 0, "PingPong", 2, 24, "0 1000 0.37 0.00",
     "4194304 10 350.87 11954.05", 11.95},
    {"imb-2021.11-ompi-np2-reduce_scatter.log", 0, "Reduce_scatter", 2, 22, "0 1000 0.03 0.04 0.04",
     "4194304 10 1991.50 1992.26 1991.88", 1.05},
    {"imb-2021.11-ompi-np4-allreduce-npmin4.log", 0, "Allreduce", 4, 22, "0 1000 0.03 0.05 0.04",
     "4194304 10 2407.51 2712.32 2558.53", 2.46},
    {"imb-2021.11-ompi-np4-allreduce.log", 0, "Allreduce", 2, 22, "0 1000 0.03 0.03 0.03",
     "4194304 10 1160.80 1168.78 1164.79", 3.60},
    {"imb-2021.11-ompi-np4-allreduce.log", 1, "Allreduce", 4, 22, "0 1000 0.03 0.03 0.03",
     "4194304 10 3266.55 3978.93 3704.98", 1.70},
    {"imb-2021.11-ompi-np4-bcast.log", 0, "Bcast", 2, 24, "0 1000 0.04 0.04 0.04",
     "4194304 10 315.71 326.51 321.11", 13.06},
    {"imb-2021.11-ompi-np4-bcast.log", 1, "Bcast", 4, 24, "0 1000 0.03 0.03 0.03",
     "4194304 10 443.27 1788.09 1252.23", 3.35},
    {"imb-2021.11-ompi-np4-pingpong.log", 0, "PingPong", 2, 24, "0 1000 2.14 0.00",
     "4194304 10 442.15 9486.11", 9.49},
};

void ExpectImbRow(const ImbFact& fact, const SweepRow& row, const std::string& text) {
  std::vector<double> numbers = NumbersOf(text);
  const std::string benchmark = fact.benchmark;
  if (benchmark == "Barrier") numbers.insert(numbers.begin(), 0);  // no size
  const std::size_t time = benchmark == "PingPong" ? 2 : 4;
  EXPECT_EQ(row.size_bytes, static_cast<std::uint64_t>(numbers[0]) *
                                static_cast<std::uint64_t>(BlocksOf(row.collective, fact.ranks)));
  EXPECT_EQ(row.samples, numbers[1]);
  EXPECT_EQ(row.time_us_mean, numbers[time]);
  EXPECT_EQ(row.time_us_median, numbers[time]);
}

class ImbLogsTest : public ::testing::TestWithParam<ImbFact> {};

TEST_P(ImbLogsTest, IsReadAsPrinted) {
  const ImbFact& fact = GetParam();
  const std::map<std::string, Collective> collectives = {
      {"Allreduce", Collective::kAllReduce}, {"Reduce_scatter", Collective::kReduceScatter},
      {"Allgather", Collective::kAllGather}, {"Alltoall", Collective::kAllToAll},
      {"Bcast", Collective::kBroadcast},     {"Barrier", Collective::kBarrier},
      {"PingPong", Collective::kSendRecv},   {"Sendrecv", Collective::kSendRecv}};
  ImportedLog log = Read(fact.file);
  ASSERT_GT(log.tables.size(), fact.table);
  ImportedTable& table = log.tables[fact.table];
  std::vector<SweepRow> rows = CompleteRows(table, {.library = "Open MPI 4.1.4"});
  EXPECT_EQ(table.format, "IMB");
  EXPECT_EQ(table.version, "2021.11");
  EXPECT_EQ(table.benchmark, fact.benchmark);
  if (!rows.empty() && rows.back().status == Status::kTimeout) rows.pop_back();
  ASSERT_EQ(rows.size(), fact.rows);
  ExpectImbRow(fact, rows[0], fact.first);
  ExpectImbRow(fact, rows.back(), fact.last);
  for (const SweepRow& row : rows) {
    EXPECT_EQ(row.collective, collectives.at(fact.benchmark));
    EXPECT_EQ(row.ranks, fact.ranks);
    EXPECT_EQ(row.status, Status::kOk);
    if (Reduces(row.collective)) {
      EXPECT_EQ(row.dtype, DataType::kFloat32);
      EXPECT_EQ(row.op, ReduceOp::kSum);
    } else if (row.collective != Collective::kBarrier) {
      EXPECT_EQ(row.dtype, DataType::kUint8);
    }
  }
  if (fact.busbw > 0) {
    EXPECT_NEAR(rows.back().busbw_GBps.value_or(-1), fact.busbw, 0.006);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ImbLogsTest, ::testing::ValuesIn(kImbFacts));

TEST(ImbLogTest, ATimeOutRowIsATimeout) {
  ImportedLog log = Read("imb-2021.11-mpich-np4-allreduce-time-out.log");
  ASSERT_EQ(log.tables.size(), 2U);
  const std::vector<SweepRow> rows = CompleteRows(log.tables[1], {.library = "MPICH 4.0.2"});
  ASSERT_EQ(rows.size(), 13U);
  EXPECT_EQ(rows.back().status, Status::kTimeout);
  EXPECT_EQ(rows.back().size_bytes, 8192U);
  EXPECT_FALSE(rows.back().time_us_median.has_value());
  EXPECT_THAT(rows.back().reason, HasSubstr("time-out"));
}

TEST(ImbLogTest, EveryTableOfAFileIsItsOwn) {
  EXPECT_EQ(Read("imb-2021.11-ompi-np2-five-benchmarks.log").tables.size(), 5U);
  EXPECT_EQ(Read("imb-2021.11-ompi-np4-bcast.log").tables.size(), 2U);
}

TEST(ImbLogTest, WhatTheLogSaysCountsMoreThanAnOption) {
  ImportedLog log = Read("imb-2021.11-ompi-np4-pingpong.log");
  const std::vector<SweepRow> rows =
      CompleteRows(log.tables[0], {.ranks = 4, .library = "Open MPI 4.1.4"});
  EXPECT_EQ(rows[0].ranks, 2);
  EXPECT_THAT(log.tables[0].notes, Contains(HasSubstr("--ranks 4 is not used")));
}

}  // namespace
}  // namespace hockney
