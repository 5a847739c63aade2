#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "bench/nccl_tests/table.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// 10 ranks on 10 hosts, as in the recorded run of nccl-tests 2.17.8 that the rows below are of.
NcclTestsRun TenRanks(Collective collective, const std::string& program) {
  NcclTestsRun run;
  run.program = program;
  run.collective = collective;
  for (int rank = 0; rank < 10; ++rank) {
    run.devices.push_back({.rank = rank,
                           .pid = rank == 2 ? 19363 : 3856435,
                           .host = "node-0" + std::to_string(rank + 1) + ".example.org",
                           .device = 0,
                           .cpu = "AMD EPYC 7763"});
  }
  return run;
}

// The row of `count` doubles, whose bandwidths follow from the times.
TableRow MakeRow(const NcclTestsRun& run, std::uint64_t count, double apart_us, double in_us) {
  TableRow row;
  row.type = DataType::kFloat64;
  row.count = count;
  row.size_bytes = SizeBytes(run.collective, count, row.type, static_cast<int>(run.devices.size()));
  row.out_of_place = MakeSide(run, row.size_bytes, apart_us);
  row.out_of_place.wrong = 0;
  row.in_place = MakeSide(run, row.size_bytes, in_us);
  row.in_place->wrong = 0;
  return row;
}

TEST(NcclTestsTableTest, RowsAreThoseOfARecordedRun) {
  const NcclTestsRun reduce = TenRanks(Collective::kAllReduce, "all_reduce_perf");
  EXPECT_EQ(
      TableRowText(reduce, MakeRow(reduce, 4194304, 1405.25, 1406.35)),
      "    33554432       4194304    double     sum      -1  1405.25   23.88   42.98       0  "
      "1406.35   23.86   42.95       0\n");
  EXPECT_EQ(
      TableRowText(reduce, MakeRow(reduce, 33554432, 10061.7, 10064.7)),
      "   268435456      33554432    double     sum      -1  10061.7   26.68   48.02       0  "
      "10064.7   26.67   48.01       0\n");
  EXPECT_EQ(
      TableRowText(reduce, MakeRow(reduce, 2147483648, 632480, 632577)),
      " 17179869184    2147483648    double     sum      -1   632480   27.16   48.89       0   "
      "632577   27.16   48.89       0\n");
  const NcclTestsRun gather = TenRanks(Collective::kAllGather, "all_gather_perf");
  EXPECT_EQ(
      TableRowText(gather, MakeRow(gather, 419430, 721.94, 687.61)),
      "    33554400        419430    double    none      -1   721.94   46.48   41.83       0   "
      "687.61   48.80   43.92       0\n");
}

TEST(NcclTestsTableTest, InPlaceChecksThatDoNotExistAreNotAvailable) {
  const NcclTestsRun alltoall = TenRanks(Collective::kAllToAll, "alltoall_perf");
  TableRow row = MakeRow(alltoall, 419430, 792.60, 762.45);
  row.in_place->wrong.reset();
  EXPECT_EQ(
      TableRowText(alltoall, row),
      "    33554400        419430    double    none      -1   792.60   42.33   38.10       0   "
      "762.45   44.01   39.61    N/A\n");
  const NcclTestsRun sendrecv = TenRanks(Collective::kSendRecv, "sendrecv_perf");
  row = MakeRow(sendrecv, 4194304, 1400.87, 1373.59);
  row.in_place->wrong.reset();
  EXPECT_EQ(
      TableRowText(sendrecv, row),
      "    33554432       4194304    double     sum      -1  1400.87   23.95   23.95       0  "
      "1373.59   24.43   24.43    N/A\n");
}

TEST(NcclTestsTableTest, PlacementsThatWereNotMeasuredAreNotAvailable) {
  NcclTestsRun run = TenRanks(Collective::kAllToAll, "alltoall_perf");
  TableRow row = MakeRow(run, 419430, 792.60, 762.45);
  row.in_place.reset();
  EXPECT_EQ(
      TableRowText(run, row),
      "    33554400        419430    double    none      -1   792.60   42.33   38.10       0    "
      "  N/A     N/A     N/A    N/A\n");
  run.options.per_iteration = true;
  EXPECT_THAT(TableRowText(run, row), EndsWith("    N/A      N/A      N/A      N/A      N/A\n"));
  RunTotals totals;
  totals.Add(row);
  EXPECT_NEAR(totals.average_busbw_GBps(), 38.10, 0.005) << "the average is of what was measured";
}

TEST(NcclTestsTableTest, HeaderNamesRanksAndColumns) {
  NcclTestsRun run = TenRanks(Collective::kAllReduce, "all_reduce_perf");
  run.options.factor = 2;
  run.options.end_bytes = 68719476736;
  run.options.warmups = 5;
  const std::string header = TableHeader(run);
  EXPECT_THAT(header, StartsWith("# hockney version "));
  EXPECT_THAT(
      header,
      HasSubstr("\n# Collective test starting: all_reduce_perf\n"
                "# nThread 1 nGpus 1 minBytes 33554432 maxBytes 68719476736 step: 2(factor) "
                "warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
                "#\n# Using devices\n"
                "#  Rank  0 Group  0 Pid 3856435 on    node-01 device  0 [0000:00:00] CPU "
                "AMD EPYC 7763\n"));
  EXPECT_THAT(header, HasSubstr("#  Rank  2 Group  0 Pid  19363 on    node-03 device  0 ["));
  EXPECT_THAT(
      header,
      EndsWith(
          "#\n"
          "#                                                              out-of-place          "
          "             in-place          \n"
          "#       size         count      type   redop    root     time   algbw   busbw  "
          "#wrong     time   algbw   busbw  #wrong \n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
          "      (us)  (GB/s)  (GB/s)         \n"));
  EXPECT_THAT(header, Not(HasSubstr("One rank")));
}

TEST(NcclTestsTableTest, StepIsInBytesWithoutAFactor) {
  EXPECT_THAT(TableHeader(TenRanks(Collective::kAllReduce, "all_reduce_perf")),
              HasSubstr(" step: 1048576(bytes) "));
}

TEST(NcclTestsTableTest, IterationAndTimestampColumns) {
  ASSERT_EQ(setenv("TZ", "UTC", 1), 0);
  tzset();
  NcclTestsRun run = TenRanks(Collective::kAllReduce, "all_reduce_perf");
  run.options.per_iteration = true;
  run.options.timestamps = true;
  EXPECT_THAT(
      TableHeader(run),
      EndsWith(
          "#                                                                 out-of-place (+ "
          "per-iteration)                                in-place (+ per-iteration)\n"
          "#       size         count      type   redop    root     time   algbw   busbw  "
          "#wrong    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min "
          "   i_max    i_p99    i_cv%           timestamp\n"
          "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
          "      (us)     (us)     (us)      (%)     (us)  (GB/s)  (GB/s)             (us)     "
          "(us)     (us)      (%)   %Y-%m-%d %H:%M:%S\n"));
  TableRow row = MakeRow(run, 4194304, 1405.25, 1406.35);
  row.out_of_place.iterations = IterationTimes{.times_us = {1, 3}};
  row.in_place->iterations = IterationTimes{.skipped = 1, .times_us = {9, 1000, 3000}};
  row.finished = std::chrono::system_clock::from_time_t(1783605839);
  EXPECT_EQ(
      TableRowText(run, row),
      "    33554432       4194304    double     sum      -1  1405.25   23.88   42.98       0   "
      "  1.00     3.00     3.00    50.00  1406.35   23.86   42.95       0  1000.00  3000.00  "
      "3000.00    50.00  2026-07-09 14:03:59\n");
}

TEST(NcclTestsTableTest, NumbersKeepTheDecimalsThatFit) {
  EXPECT_EQ(FixedWidth(0, 7), "   0.00");
  EXPECT_EQ(FixedWidth(13.666, 7), "  13.67");
  EXPECT_EQ(FixedWidth(9999.99, 7), "9999.99");
  EXPECT_EQ(FixedWidth(10310.5, 7), "10310.5");
  EXPECT_EQ(FixedWidth(161737, 7), " 161737");
  EXPECT_EQ(FixedWidth(1234567, 7), "1234567");
  EXPECT_EQ(FixedWidth(12345678, 7), "1.2e+07");
  EXPECT_EQ(FixedWidth(9999.999, 7), "10000.0") << "rounding up must not widen the column";
  EXPECT_EQ(FixedWidth(999.99, 6), "999.99");
  EXPECT_EQ(FixedWidth(1234.56, 6), "1234.6");
  EXPECT_EQ(FixedWidth(12345.6, 6), " 12346");
  EXPECT_EQ(FixedWidth(1234567, 6), " 1e+06");
}

TEST(NcclTestsTableTest, ManyWrongElementsArePrintedAsThere) {
  const NcclTestsRun run = TenRanks(Collective::kAllReduce, "all_reduce_perf");
  TableRow row = MakeRow(run, 4194304, 1405.25, 1406.35);
  row.out_of_place.wrong = 12;
  row.in_place->wrong = 1234567;
  const std::string text = TableRowText(run, row);
  EXPECT_THAT(text, HasSubstr("  42.98      12  "));
  EXPECT_THAT(text, EndsWith("  42.95  1.23457e+06\n"));
}

TEST(NcclTestsTableTest, FooterAveragesBothPlacements) {
  const NcclTestsRun run = TenRanks(Collective::kAllReduce, "all_reduce_perf");
  RunTotals totals;
  EXPECT_EQ(totals.average_busbw_GBps(), 0);
  TableRow row;
  row.out_of_place = {.busbw_GBps = 47.8, .wrong = 0};
  row.in_place = RowSide{.busbw_GBps = 47.833};
  totals.Add(row);
  EXPECT_EQ(TableFooter(run, totals, std::nullopt),
            "# Out of bounds values : 0 OK\n"
            "# Avg bus bandwidth    : 47.8165 \n"
            "#\n"
            "# Collective test concluded: all_reduce_perf\n"
            "#\n"
            "\n");
  EXPECT_THAT(TableFooter(run, totals, 53.1), HasSubstr("bandwidth    : 47.8165 OK\n"));
  EXPECT_THAT(TableFooter(run, totals, 53.2), HasSubstr("bandwidth    : 47.8165 FAILED\n"));
  EXPECT_TRUE(BelowMinimum(8.99, 10));
  EXPECT_FALSE(BelowMinimum(9, 10));
  EXPECT_FALSE(BelowMinimum(0, std::nullopt));
  row.out_of_place.wrong = 3;
  totals.Add(row);
  EXPECT_EQ(totals.out_of_bounds(), 1);
  EXPECT_THAT(TableFooter(run, totals, std::nullopt, "rank 1 is gone"),
              testing::AllOf(StartsWith("# Out of bounds values : 1 FAILED\n"),
                             EndsWith("#\n# error: rank 1 is gone\n")));
}

TEST(NcclTestsTableTest, OneRankSaysWhyBusbwIsZero) {
  NcclTestsRun run = TenRanks(Collective::kAllReduce, "all_reduce_perf");
  run.devices.resize(1);
  EXPECT_THAT(TableHeader(run), HasSubstr("\n# One rank: "));
  const RowSide side = MakeSide(run, 33554432, 1000);
  EXPECT_DOUBLE_EQ(side.algbw_GBps, 33.554432);
  EXPECT_EQ(side.busbw_GBps, 0);
  run.collective = Collective::kBroadcast;
  EXPECT_THAT(TableHeader(run), Not(HasSubstr("One rank"))) << "its factor is 1 for any ranks";
  EXPECT_DOUBLE_EQ(MakeSide(run, 33554432, 1000).busbw_GBps, 33.554432);
}

TEST(NcclTestsIterationsTest, StatisticsOfNcclTests) {
  IterationTimes times{.skipped = 2};
  times.times_us = {500, 400};
  for (int i = 100; i >= 1; --i) times.times_us.push_back(i);
  const IterationStats stats = SummarizeIterations(times);
  EXPECT_EQ(stats.min_us, 1);
  EXPECT_EQ(stats.max_us, 100);
  EXPECT_DOUBLE_EQ(stats.avg_us, 50.5);
  EXPECT_EQ(stats.p50_us, 51);
  EXPECT_EQ(stats.p95_us, 95);
  EXPECT_EQ(stats.p99_us, 99);
  EXPECT_NEAR(stats.stdev_us, 28.8660700477, 1e-9);  // sqrt((100^2 - 1) / 12)
  EXPECT_NEAR(stats.cv_percent, 57.1605347479, 1e-9);
  EXPECT_EQ(SummarizeIterations({.times_us = {7, 9, 8}}).p99_us, 9);
  EXPECT_THROW(SummarizeIterations({}), std::invalid_argument);
  EXPECT_THROW(SummarizeIterations({.skipped = 1, .times_us = {7}}), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
