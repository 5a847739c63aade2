#include "tuner/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "topology/check.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  RecordsTest(const RecordsTest&) = delete;
  RecordsTest& operator=(const RecordsTest&) = delete;
  ~RecordsTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static std::string Read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           (std::string("hockney_records_") +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

template <class Error, class Body>
requires std::invocable<Body> std::string Thrown(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// A value for each column that differs from the default and from its neighbours.
template <class T>
struct FillFrom {
  T* row;
  int seed;
  void operator()(std::string T::*m) const { row->*m = "t" + std::to_string(seed); }
  void operator()(std::int64_t T::*m) const { row->*m = seed; }
  void operator()(std::uint64_t T::*m) const { row->*m = (1ULL << 63) + seed; }
  void operator()(double T::*m) const { row->*m = seed / 3.0; }
  void operator()(bool T::*m) const { row->*m = true; }
  void operator()(Status T::*m) const { row->*m = Status::kWrongData; }
  void operator()(Collective T::*m) const { row->*m = Collective::kAllToAllV; }
  void operator()(std::optional<std::int64_t> T::*m) const { row->*m = -seed; }
  void operator()(std::optional<std::uint64_t> T::*m) const { row->*m = 1'000'000ULL * seed; }
  void operator()(std::optional<double> T::*m) const { row->*m = seed / 7.0; }
  void operator()(std::optional<bool> T::*m) const { row->*m = seed % 2 == 0; }
  void operator()(std::optional<DataType> T::*m) const { row->*m = DataType::kFloat8E4m3; }
  void operator()(std::optional<ReduceOp> T::*m) const { row->*m = ReduceOp::kAvg; }
};

SweepRow FullRow() {
  SweepRow row;
  int seed = 0;
  for (const Column<SweepRow>& column : SweepRow::Columns()) {
    std::visit(FillFrom<SweepRow>{&row, ++seed}, column.member);
  }
  return row;
}

std::string SweepText(const SweepRow& row) { return NamesLine<SweepRow>() + RowLine(row); }

TEST_F(RecordsTest, ColumnsAreThoseOfTheFormat) {
  EXPECT_EQ(NamesLine<SweepRow>(),
            "launch,order,collective,implementation,algorithm,protocol,lanes,parameters,transport,"
            "mode,buffers,clock,clock_error_us,page_kib,memory_kind,graph,groups,root,dtype,op,"
            "ranks,nodes,size_bytes,count,in_place,samples,time_us_median,time_us_ci_low,"
            "time_us_ci_high,time_us_min,time_us_mean,time_us_p95,time_us_p99,entry_skew_ns,c2c_ns,"
            "slowest_rank,algbw_GBps,busbw_GBps,wire_bytes_per_rank,bound_GBps,bound_fraction,"
            "errors,status,reason,requested_algorithm,verified,converged,oversubscribed,"
            "burst_limited\n");
  EXPECT_EQ(NamesLine<SampleRow>(), "row,launch,sample,order,time_us,slowest_rank\n");
}

TEST_F(RecordsTest, AllColumnsReadBackEqual) {
  const SweepRow row = FullRow();
  const std::string path = Write("sweep.csv", SweepText(row));
  EXPECT_THAT(ReadSweep(path), ::testing::ElementsAre(row));
  EXPECT_EQ(RowLine(ReadSweep(folder_).front()), RowLine(row));  // a folder will do
}

TEST_F(RecordsTest, EmptyStaysMissing) {
  const std::vector<SweepRow> rows = ReadSweep(Write("sweep.csv", SweepText(SweepRow{})));
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0], SweepRow{});
  EXPECT_FALSE(rows[0].time_us_median.has_value());
  EXPECT_FALSE(rows[0].in_place.has_value());
  EXPECT_FALSE(rows[0].errors.has_value());
}

TEST_F(RecordsTest, WhatIsNotFiniteIsWrittenAsMissing) {
  SweepRow row;
  row.busbw_GBps = std::nan("");
  row.algbw_GBps = std::numeric_limits<double>::infinity();
  const SweepRow read = ReadSweep(Write("sweep.csv", SweepText(row))).at(0);
  EXPECT_FALSE(read.busbw_GBps.has_value());
  EXPECT_FALSE(read.algbw_GBps.has_value());
}

TEST_F(RecordsTest, CommasAndQuotesSurvive) {
  SweepRow row = FullRow();
  row.parameters = "lanes=2;chunk_bytes=4096";
  row.reason = "needs \"gdr\", which eth0, eth1 lack";
  row.implementation = "#1";
  row.groups = "\"";
  row.requested_algorithm = " spaces stay ";
  row.verified = "\xC3\xA4\t\\";
  const std::string text = SweepText(row);
  EXPECT_THAT(text, HasSubstr(R"(,"needs ""gdr"", which eth0, eth1 lack",)"));
  EXPECT_THAT(text, HasSubstr(",lanes=2;chunk_bytes=4096,"));
  EXPECT_EQ(ReadSweep(Write("sweep.csv", text)).at(0), row);
}

TEST_F(RecordsTest, LineBreaksAreRefusedAndNothingIsWritten) {
  RunFolder run = RunFolder::Create(folder_ / "run");
  for (const char* text : {"two\nlines", "two\rlines"}) {
    SweepRow row;
    row.reason = text;
    EXPECT_THAT(Thrown<std::invalid_argument>([&] { run.AppendSweep(row, {}); }),
                AllOf(StartsWith("reason: "), HasSubstr("\"two lines\"")));
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "run"));
  EXPECT_THROW(RunFolder::Create(folder_ / "other", {{"host", "a\nb"}}), std::invalid_argument);
  EXPECT_FALSE(fs::exists(folder_ / "other"));
}

TEST_F(RecordsTest, CrlfByteOrderMarkAndUnknownColumns) {
  const std::string path = Write("sweep.csv",
                                 "\xEF\xBB\xBF# host=a\r\n"
                                 "\"size_bytes\",new,collective,implementation,ranks,"
                                 "time_us_median,status\r\n"
                                 "8,x,all_reduce,mpi,2,1.5,ok\r\n"
                                 "\r\n"
                                 "16,\"y,z\",AllReduce,mpi,2,,skipped\r\n");
  const std::vector<SweepRow> rows = ReadSweep(path);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].size_bytes, 8U);
  EXPECT_EQ(rows[0].time_us_median, 1.5);
  EXPECT_EQ(rows[0].status, Status::kOk);
  EXPECT_EQ(rows[1].collective, Collective::kAllReduce);
  EXPECT_FALSE(rows[1].time_us_median.has_value());
  EXPECT_EQ(rows[1].status, Status::kSkipped);
}

// Names the first line of a samples.csv with one bad row, and what the reader says about it.
class BadSamplesTest : public RecordsTest {
 protected:
  std::string Message(const std::string& row) {
    const std::string path = Write("samples.csv", "# a=b\n" + NamesLine<SampleRow>() + row + "\n");
    const std::string text = Thrown<InputError>([&] { ReadSamples(path); });
    EXPECT_THAT(text, StartsWith(path + ":"));
    return text.substr(std::min(path.size(), text.size()));
  }
};

TEST_F(BadSamplesTest, NameFileLineAndColumn) {
  EXPECT_EQ(Message("0,0,0,0,12Q,"), ":3:9: time_us: \"12Q\": expected a number");
  EXPECT_EQ(Message("8,Final:    10000000,0,0,1,"),
            ":3:3: launch: \"Final:    10000000\": expected a whole number");
  EXPECT_EQ(Message("0,0,0,0,N/A,"), ":3:9: time_us: \"N/A\": expected a number");
  EXPECT_EQ(Message("0,0,0,0,,"), ":3:9: time_us: \"\": expected a number");
  EXPECT_EQ(Message("0,0,0,0,nan,"), ":3:9: time_us: \"nan\": expected a finite number");
  EXPECT_EQ(Message("0,0,0,0, 1,"), ":3:9: time_us: \" 1\": expected a number");
  EXPECT_EQ(Message("99999999999999999999,0,0,0,1,"),
            ":3:1: row: \"99999999999999999999\": expected a whole number within 64 bits");
}

TEST_F(BadSamplesTest, CountFieldsAndQuotes) {
  EXPECT_EQ(Message("8,0,0.126,121.09"), ":3:1: expected 6 fields, found 4: \"8,0,0.126,121.09\"");
  EXPECT_EQ(Message("0,0,0,0,1,2,3"), ":3:1: expected 6 fields, found 7: \"0,0,0,0,1,2,3\"");
  EXPECT_EQ(Message("0,0,0,0,\"1,2"), ":3:9: expected a closing quote");
  EXPECT_EQ(Message("0,0,0,0,\"1\"2,"), ":3:12: expected a comma after a quote");
  EXPECT_EQ(Message("0, \"0\",0,0,1,"), ":3:4: \" \"0\"\": expected the whole field in quotes");
}

TEST_F(RecordsTest, UnreadableFilesSayWhy) {
  EXPECT_THAT(Thrown<InputError>([&] { ReadSweep(folder_ / "none.csv"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(Thrown<InputError>([&] { ReadSweep(Write("empty.csv", "")); }),
              HasSubstr("expected a row of column names"));
  EXPECT_THAT(Thrown<InputError>(
                  [&] { ReadSweep(Write("wide.csv", std::string("\xFF\xFEl\0a\0\n\0", 8))); }),
              HasSubstr("expected a CSV file in UTF-8"));
  EXPECT_THAT(Thrown<InputError>([&] { ReadSweep(Write("short.csv", "launch,order\n0,0\n")); }),
              EndsWith("short.csv:1:1: expected a column named collective"));
  EXPECT_THAT(Thrown<InputError>([&] { ReadSweep(Write("twice.csv", "launch,launch\n")); }),
              HasSubstr("twice.csv:1:8: \"launch\": expected each column name once"));
}

TEST_F(RecordsTest, UnfinishedLastLineIsDroppedWithANote) {
  const std::string whole = SweepText(FullRow());
  for (const std::string& rest : {RowLine(FullRow()), std::string("7,"), std::string("\"a")}) {
    const std::string cut = whole + rest.substr(0, rest.size() - (rest.back() == '\n' ? 1 : 0));
    std::vector<std::string> notes;
    EXPECT_THAT(ReadSweep(Write("sweep.csv", cut), &notes), SizeIs(1));
    EXPECT_THAT(notes, ::testing::ElementsAre(HasSubstr("was left out")));
  }
}

TEST_F(RecordsTest, FilesOfOthersMayLackTheLastLineEnd) {
  CsvReader reader(Write("a.csv", "\"size\",\"time_us\"\r\n8,1.5\r\n16,\"\""),
                   UnfinishedLine::kRead);
  EXPECT_THAT(reader.names(), ::testing::ElementsAre("size", "time_us"));
  std::vector<CsvField> fields;
  ASSERT_TRUE(reader.Next(&fields));
  ASSERT_TRUE(reader.Next(&fields));
  EXPECT_EQ(fields[0].text, "16");
  EXPECT_EQ(fields[1].text, "");
  EXPECT_FALSE(reader.Next(&fields));
}

TEST_F(RecordsTest, FolderHoldsRowsAndSamples) {
  RunFolder run = RunFolder::Create(folder_ / "a" / "run", {{"command", "hockney sweep, all"}});
  const std::vector<SampleRow> samples = {{.sample = 0, .order = 1, .time_us = 2.5},
                                          {.sample = 1, .time_us = 3, .slowest_rank = 1}};
  SweepRow row = FullRow();
  row.launch = 3;
  EXPECT_EQ(run.AppendSweep(row, {}), 0);
  EXPECT_EQ(run.AppendSweep(row, samples), 1);
  EXPECT_THAT(ReadSweep(run.path()), SizeIs(2));
  EXPECT_THAT(Read(run.path() / "sweep.csv"),
              StartsWith("# command=hockney sweep, all\nlaunch,order,"));
  EXPECT_EQ(Read(run.path() / "samples.csv"),
            "# command=hockney sweep, all\nrow,launch,sample,order,time_us,slowest_rank\n"
            "1,3,0,1,2.5,\n1,3,1,0,3,1\n");
  EXPECT_THAT(ReadSamples(run.path()), SizeIs(2));
}

TEST_F(RecordsTest, ExistingFolderIsRefused) {
  const fs::path path = folder_ / "run";
  RunFolder::Create(path);
  RunFolder::Create(path).WriteText("note", "an empty folder will do, but not any longer");
  EXPECT_THAT(Thrown<std::invalid_argument>([&] { RunFolder::Create(path); }),
              AllOf(HasSubstr(path.string()), HasSubstr("--append")));
  const std::string file = Write("file", "");
  EXPECT_THROW(RunFolder::Create(file), std::invalid_argument);
  EXPECT_THROW(RunFolder::Append(file), std::invalid_argument);
  EXPECT_THAT(Thrown<EnvironmentError>([&] { RunFolder::Create(fs::path(file) / "run"); }),
              HasSubstr("Not a directory"));
}

TEST_F(RecordsTest, AppendContinuesAfterAKilledRun) {
  const fs::path path = folder_ / "run";
  {
    RunFolder run = RunFolder::Append(path);  // makes it
    run.AppendSweep(FullRow(), {});
    run.AppendSweep(FullRow(), {});
  }
  std::ofstream(path / "sweep.csv", std::ios::app) << "2,0,all_re";
  std::ofstream(path / "samples.csv") << "row,lau";
  RunFolder run = RunFolder::Append(path);
  EXPECT_EQ(run.sweep_rows(), 2);
  const std::vector<SampleRow> samples = {{.time_us = 1}};
  EXPECT_EQ(run.AppendSweep(SweepRow{}, samples), 2);
  std::vector<std::string> notes;
  EXPECT_EQ(ReadSweep(path, &notes).at(2), SweepRow{});
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(ReadSamples(path).at(0).row, 2);
}

TEST_F(RecordsTest, AppendRefusesOtherColumns) {
  Write("sweep.csv",
        "launch,order,collective,implementation,ranks,size_bytes,time_us_median,status\n");
  EXPECT_THAT(Thrown<InputError>([&] { RunFolder::Append(folder_); }),
              HasSubstr("sweep.csv:1:1: expected the columns of this version"));
}

TEST_F(RecordsTest, FullDiskNamesPathAndCauseAndTakesTheRowBack) {
  LineFile full("/dev/full");
  EXPECT_THAT(Thrown<EnvironmentError>([&] { full.Append("a\n"); }),
              AllOf(StartsWith("/dev/full: "), HasSubstr("No space left on device")));

  RunFolder run = RunFolder::Create(folder_ / "run");
  run.AppendSweep(FullRow(), {});
  fs::create_symlink("/dev/full", run.path() / "samples.csv");
  const std::vector<SampleRow> samples = {{.time_us = 1}};
  EXPECT_THAT(Thrown<EnvironmentError>([&] { run.AppendSweep(FullRow(), samples); }),
              AllOf(HasSubstr("samples.csv"), HasSubstr("No space left on device")));
  EXPECT_THAT(ReadSweep(run.path()), SizeIs(1));
  EXPECT_EQ(run.sweep_rows(), 1);
  EXPECT_THROW(LineFile(folder_ / "none" / "a.csv"), EnvironmentError);
}

TEST_F(RecordsTest, RunJsonIsAlwaysOneValidDocument) {
  RunFolder run = RunFolder::Create(folder_ / "run");
  nlohmann::ordered_json json;
  json["command"] = "sweep \"a\\b\"";
  json["host"] = "bad \xFF byte";
  json["rate"] = std::nan("");
  run.WriteRun(json);
  run.WriteRun(json);
  const auto read = nlohmann::json::parse(Read(run.path() / "run.json"));
  EXPECT_EQ(read["command"], "sweep \"a\\b\"");
  EXPECT_TRUE(read["rate"].is_null());
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path()), fs::directory_iterator()), 1);
}

TEST_F(RecordsTest, DefaultNameIsUniqueAndTheNewestIsFound) {
  using std::chrono::system_clock;
  const auto time = system_clock::from_time_t(951868805);  // 2000-03-01 00:00:05 UTC
  EXPECT_FALSE(NewestRun(folder_ / "none").has_value());
  const fs::path first = DefaultRunPath("sweep", time, folder_);
  EXPECT_EQ(first.filename(), "20000301T000005Z_sweep");
  RunFolder::Create(first);
  const fs::path second = DefaultRunPath("sweep", time, folder_);
  EXPECT_EQ(second.filename(), "20000301T000005Z_sweep-2");
  RunFolder::Create(second);
  EXPECT_EQ(DefaultRunPath("sweep", time, folder_).filename(), "20000301T000005Z_sweep-3");
  EXPECT_EQ(NewestRun(folder_), second);
}

TEST(SweepRowTest, AlgorithmsOfSeveralLevelsAreNamedWithThem) {
  SweepRow row;
  row.algorithm = "hierarchical";
  EXPECT_EQ(AlgorithmOf(row), "hierarchical");
  row.parameters = "inter=ring;intra=direct;pieces=3;slices=2;store=cached";
  EXPECT_EQ(AlgorithmOf(row), "hierarchical(direct,ring)");
  EXPECT_EQ(FindParameter(row, "store"), "cached");
  EXPECT_EQ(FindParameter(row, "slice"), "");
  row.parameters = "inter=bruck;intra=direct;pieces=3;rack=ring";
  EXPECT_EQ(AlgorithmOf(row), "hierarchical(direct,ring,bruck)");
  row.algorithm = "ring";
  EXPECT_EQ(AlgorithmOf(row), "ring");
}

}  // namespace
}  // namespace hockney
