// Tables of nccl-tests that are not as the tool left them, and what their numbers alone tell.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/check.h"
#include "tuner/bandwidth.h"
#include "tuner/import/read_log.h"

namespace hockney {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kHead =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    " "
    " algbw   busbw #wrong\n";

// The row of a collective that moves 100 GB/s, with the in-place check as given.
std::string Row(Collective collective, int ranks, std::uint64_t count,
                const std::string& in_place_wrong = "0") {
  const std::uint64_t size = SizeBytes(collective, count, DataType::kFloat32, ranks);
  const double us = static_cast<double>(size) / 1e5;
  const double busbw = 100 * BusFactor(collective, ranks).value_or(0);
  const std::string op = Reduces(collective) ? "sum" : "none";
  const int root = HasRoot(collective) ? 0 : -1;
  const std::string side = fmt::format("{:.2f} {:.2f} {:.2f}", us, 100.0, busbw);
  return fmt::format("{} {} float {} {} {} 0 {} {}\n", size, count, op, root, side, side,
                     in_place_wrong);
}

std::string Table(Collective collective, int ranks, const std::string& in_place_wrong = "0") {
  std::string text = kHead;
  for (std::uint64_t count = 1024; count <= (1U << 26); count *= 4) {
    text += Row(collective, ranks, count, in_place_wrong);
  }
  return text;
}

std::vector<ImportedTable> Read(const std::string& text, const std::string& path = "x.log") {
  return ReadLogText(path, text).tables;
}

std::string Refusal(const std::string& text, const ImportAnswers& answers = {},
                    const std::string& path = "x.log") {
  try {
    for (ImportedTable& table : Read(text, path)) CompleteRows(table, answers);
  } catch (const InputError& error) {
    return error.what();
  }
  return "taken";
}

ImportedTable Settled(const std::string& text, const ImportAnswers& answers = {},
                      const std::string& path = "x.log") {
  std::vector<ImportedTable> tables = Read(text, path);
  EXPECT_EQ(tables.size(), 1U);
  Settle(tables[0], answers);
  return tables[0];
}

TEST(NcclTestsImportTest, RowsAloneTellCollectiveAndRanks) {
  for (const int ranks : {3, 4, 8, 10, 16, 32}) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter}) {
      const ImportedTable table = Settled(Table(collective, ranks));
      EXPECT_EQ(table.collectives[0], collective);
      EXPECT_EQ(table.ranks, ranks) << Name(collective);
    }
    // In place alltoall has wrong data by design, so its check is N/A; all_gather's is not.
    EXPECT_EQ(Settled(Table(Collective::kAllGather, ranks)).collectives[0], Collective::kAllGather);
    EXPECT_EQ(Settled(Table(Collective::kAllToAll, ranks, "N/A")).collectives[0],
              Collective::kAllToAll);
  }
}

TEST(NcclTestsImportTest, ManyRanksAreTakenFromSizeAndCountOrAskedFor) {
  const ImportedTable gather = Settled(Table(Collective::kAllGather, 4096));
  EXPECT_EQ(gather.ranks, 4096);
  EXPECT_EQ(gather.ranks_from, "size and count");
  const std::string reduce = Table(Collective::kAllReduce, 4096);
  EXPECT_THAT(Refusal(reduce), HasSubstr("x.log:1:1: the log does not say how many ranks"));
  EXPECT_EQ(Settled(reduce, {.ranks = 4096}).ranks, 4096);
  EXPECT_THAT(Refusal(reduce, {.ranks = 8}), HasSubstr("--ranks 8: expected "));
}

TEST(NcclTestsImportTest, WhatRowsDoNotTellIsAskedFor) {
  const std::string broadcast = Table(Collective::kBroadcast, 8);
  EXPECT_THAT(Refusal(broadcast), HasSubstr("expected --ranks N"));
  const ImportedTable table = Settled(broadcast, {.ranks = 8});
  EXPECT_THAT(table.collectives, ElementsAre(Collective::kBroadcast));
  // Without a check all_gather and alltoall look alike.
  const std::string either =
      std::string(kHead) + "32768 1024 float none -1 9.1 3.60 3.15 N/A 9.1 3.60 3.15 N/A\n";
  EXPECT_THAT(Refusal(either), HasSubstr("all_gather or all_to_all: expected --collective NAME"));
  EXPECT_EQ(Settled(either, {.collective = Collective::kAllToAll}).collectives[0],
            Collective::kAllToAll);
  EXPECT_THAT(Refusal(either, {.collective = Collective::kAllReduce}), HasSubstr("--collective"));
  const ImportedTable named = Settled(either, {}, "runs/h100_allgather.txt");
  EXPECT_EQ(named.collectives[0], Collective::kAllGather);
  EXPECT_THAT(named.notes, Contains(HasSubstr("by the file's name")));
  EXPECT_EQ(Settled("$ mpirun ./build/alltoall_perf -c 0\n" + either).collectives[0],
            Collective::kAllToAll);
}

TEST(NcclTestsImportTest, RatesThatContradictTheDevicesAreBelieved) {
  std::string text = "# Using devices\n";
  for (int rank = 0; rank < 4; ++rank) {
    text += fmt::format("#  Rank {:2} Group  0 Pid 7 on node-01 device {} [0000:1b:00] GPU\n", rank,
                        rank);
  }
  const ImportedTable table = Settled(text + Table(Collective::kAllReduce, 8));
  EXPECT_EQ(table.ranks, 8) << "device lines were cut";
  EXPECT_THAT(table.notes, Contains(HasSubstr("8 ranks by busbw/algbw")));
}

// B28 of the public cases, its numbers.
TEST(NcclTestsImportTest, B28OtherOutputBetweenRowsIsNoRow) {
  const std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n"
      "hostA:123:123 [0] NCCL INFO Ring 00 : 0 1\n"
      "1048576 262144 float sum -1 95.1 11.03 19.30 0 94.8 11.06 19.36 0\n"
      "2097152 524288 float sum -1 190.2 11.03 19.30 N/A 189.6 11.06 19.36 N/A\n"
      "4194304 1048576 float sum -hostA:123:123 [0] NCCL INFO comm 0x7f\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth : 19.33\n";
  std::vector<ImportedTable> tables = Read(text);
  ASSERT_EQ(tables.size(), 1U);
  const std::vector<SweepRow> rows = CompleteRows(tables[0], {});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].errors, 0U);
  EXPECT_FALSE(rows[2].errors.has_value()) << "not checked is not right";
  EXPECT_EQ(rows[0].ranks, 8);
  EXPECT_EQ(rows[0].samples, 20U);
  EXPECT_THAT(tables[0].notes, Contains(HasSubstr("x.log:5: left out")));
  EXPECT_THAT(tables[0].notes, Contains(HasSubstr("no header")));
}

TEST(NcclTestsImportTest, MarksOfLaunchersAreNoPartOfALine) {
  const std::string plain = Table(Collective::kAllReduce, 8);
  for (const std::string mark :
       {"[1,0]<stdout>:", "[prterun-n1-77@1,0]<stdout>: ", "0: ", " 12: ", "[0] ", "\x1b[32m",
        "2026-07-09T14:03:59.123Z ", "0: [1,0]<stdout>:"}) {
    std::string text = mark;
    for (const char c : plain.substr(0, plain.size() - 1)) {
      text += c;
      if (c == '\n') text += mark;
    }
    std::vector<ImportedTable> tables = Read(text);
    ASSERT_EQ(tables.size(), 1U) << mark;
    EXPECT_EQ(tables[0].rows.size(), 18U) << mark;
  }
}

TEST(NcclTestsImportTest, B28MixedRunsAreRefusedAndFollowingOnesSplit) {
  const std::string a = Row(Collective::kAllReduce, 8, 1 << 20);
  const std::string b = Row(Collective::kAllReduce, 8, 1 << 22);
  const std::string c = Row(Collective::kAllReduce, 8, 1 << 24);
  const std::string head = kHead;
  EXPECT_THAT(Refusal(head + head + a + a + b + b), HasSubstr("x.log:4:1: a row of 4194304 bytes"));
  EXPECT_THAT(Refusal(head + a + b + a + c + b + c), HasSubstr("two runs are mixed"));
  EXPECT_EQ(Read(head + a + b + c + a + b + c).size(), 2U) << "-N 2 has one header";
  EXPECT_EQ(Read(head + a + b + head + a + b).size(), 2U);
  EXPECT_EQ(Read(head + c + c + c).size(), 3U) << "-N 3 of one size";
}

TEST(NcclTestsImportTest, FieldsThatCannotBeReadAreNamedByTheirPlace) {
  const std::string head = kHead;
  EXPECT_THAT(Refusal(head + "8 2 float sum -1 12.5us 1 1 0 12.5 1 1 0\n"),
              HasSubstr("x.log:2:18: \"12.5us\": expected a number"));
  EXPECT_THAT(Refusal(head + "8 2 int128 sum -1 12.5 1 1 0 12.5 1 1 0\n"),
              HasSubstr("x.log:2:5: \"int128\": expected a type"));
  EXPECT_THAT(Refusal(head), HasSubstr("x.log:1:1: no rows"));
  EXPECT_THAT(Refusal("NCCL INFO Bootstrap\n# Out of bounds values : 0 OK\n"),
              HasSubstr("no table in it"));
}

TEST(NcclTestsImportTest, MoreAndFewerColumnsKeepTheirPlaces) {
  const std::string text =
      "#  size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
      "busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
      "67108864 16777216 half sum -1 400 167.77 293.60 3 1 2 3 4 500 134.22 234.88 0 5 6 7 8 "
      "2026-07-09 14:03:59\n";
  std::vector<ImportedTable> tables = Read(text);
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].rows.size(), 2U);
  EXPECT_EQ(tables[0].rows[0].row.time_us_mean, 400.0);
  EXPECT_EQ(tables[0].rows[0].row.errors, 3U);
  EXPECT_EQ(tables[0].rows[0].row.status, Status::kWrongData);
  EXPECT_EQ(tables[0].rows[1].row.time_us_mean, 500.0);
  const auto one_side =
      Read("# size count type time algbw busbw\n33554432 1048576 float 400 1 1\n");
  ASSERT_EQ(one_side[0].rows.size(), 1U);
  EXPECT_EQ(one_side[0].rows[0].row.in_place, false);
}

TEST(NcclTestsImportTest, TestsWithoutACollectiveAreLeftOut) {
  const std::string hypercube =
      "# Collective test starting: hypercube_perf\n" + Table(Collective::kAllReduce, 8);
  EXPECT_THAT(Refusal(hypercube), HasSubstr("hypercube_perf: no collective that hockney knows"));
  const ImportedLog log =
      ReadLogText("x.log", hypercube + "# Collective test starting: all_reduce_perf\n" +
                               Table(Collective::kAllReduce, 8));
  EXPECT_EQ(log.tables.size(), 1U);
  EXPECT_EQ(log.notes.size(), 1U);
}

// The structure of the -J file of nccl-tests v2.19, whose undefined numbers are texts.
constexpr const char* kJson = R"(nccl-tests version 2.19
{"version": 3, "start_time": "2026-01-01 12:00:00", "args": ["./build/all_gather_perf", "-g", "4"],
 "nccl_version": "2.29.2",
 "config": {"nthreads": 1, "ngpus": 4, "iterations": 20, "graph": 0, "devices": [
   {"rank": 0, "group": 0, "pid": 7, "hostname": "node-01", "device": 0, "device_info": "GPU"},
   {"rank": 4, "group": 0, "pid": 9, "hostname": "node-02", "device": 0, "device_info": "GPU"}]},
 "results": [{"size": 8388608, "count": 262144, "type": "float", "redop": "none", "root": "    -1",
   "out_of_place": {"time": 100.5, "alg_bw": 83.468735, "bus_bw": 73.035143, "nwrong": 0},
   "in_place": {"time": 99.25, "alg_bw": 84.519980, "bus_bw": 73.954982, "nwrong": "N/A"},
   "actual_iterations": 20, "experiment_name": ""}],
 "out_of_bounds": {"count": 0, "okay": "true"},
 "average_bus_bandwidth": {"bandwidth": 73.495063, "okay": "unchecked"}, "errors": []}
)";

TEST(NcclTestsImportTest, JsonIsReadBetweenOtherOutput) {
  std::vector<ImportedTable> tables = Read(kJson, "x.json");
  ASSERT_EQ(tables.size(), 1U);
  const std::vector<SweepRow> rows = CompleteRows(tables[0], {});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].collective, Collective::kAllGather);
  EXPECT_EQ(rows[0].ranks, 8) << "the file lists one device a process of four";
  EXPECT_EQ(rows[0].nodes, 2);
  EXPECT_EQ(rows[0].time_us_mean, 100.5);
  EXPECT_EQ(rows[0].errors, 0U);
  EXPECT_FALSE(rows[1].errors.has_value());
  EXPECT_EQ(rows[1].samples, 20U);
  EXPECT_EQ(rows[0].parameters, "library=NCCL 2.29.2;statistic=mean");
  EXPECT_EQ(Read(std::string(kJson) + Table(Collective::kAllReduce, 8), "x").size(), 2U);
}

TEST(NcclTestsImportTest, JsonThatIsNoneNamesItsPlace) {
  const std::string json = kJson;
  EXPECT_THAT(Refusal(json.substr(0, json.find("\"in_place\""))),
              HasSubstr("the JSON ends too early"));
  EXPECT_THAT(Refusal("{\"size\": 8}\n{\"size\": 16}\n"), HasSubstr("x.log:1:1: JSON: "));
  std::string broken = json;
  broken.replace(broken.find("8388608"), 7, "\"8 MiB\"");
  EXPECT_THAT(Refusal(broken), HasSubstr("results[0].size: \"8 MiB\": expected"));
  broken = json;
  broken.replace(broken.find("100.5"), 5, "12%45");
  EXPECT_THAT(Refusal(broken), HasSubstr("x.log:8:"));
}

}  // namespace
}  // namespace hockney
