// How programs that run nccl-tests read its output, written down as rules and applied to our text.
// Each rule names its source; what they read must be what was put in.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "bench/nccl_tests/json.h"
#include "bench/nccl_tests/names.h"
#include "bench/nccl_tests/table.h"
#include "tuner/bandwidth.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; stream >> field;) fields.push_back(field);
  return fields;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Made {
  NcclTestsRun run;
  std::vector<TableRow> rows;
  RunTotals totals;
  std::string text;
};

// A run of 8 B, 1 KiB and 64 MiB with times that double in place.
Made MakeRun(Collective collective, int ranks, const NcclTestsOptions& options = {},
             std::optional<double> minimum = {}) {
  Made made;
  made.run = {.program = "all_reduce_perf", .collective = collective, .options = options};
  for (int rank = 0; rank < ranks; ++rank) {
    made.run.devices.push_back(
        {.rank = rank, .pid = 4000 + rank, .host = "node-01", .device = rank, .cpu = "AMD EPYC"});
  }
  made.text = TableHeader(made.run);
  double time_us = 2.5;
  for (const std::uint64_t count : {2, 256, 16777216}) {
    TableRow row{.size_bytes = SizeBytes(collective, count, DataType::kFloat32, ranks),
                 .count = count};
    row.root = HasRoot(collective) ? 0 : -1;
    row.out_of_place = MakeSide(made.run, row.size_bytes, time_us);
    row.in_place = MakeSide(made.run, row.size_bytes, 2 * time_us);
    if (options.checks > 0) row.out_of_place.wrong = 0;
    if (options.checks > 0 && HasInPlaceForm(collective)) row.in_place->wrong = 0;
    if (options.per_iteration) {
      row.out_of_place.iterations = row.in_place->iterations = IterationTimes{.times_us = {4, 6}};
    }
    made.totals.Add(row);
    made.text += TableRowText(made.run, row);
    made.rows.push_back(row);
    time_us *= 100;
  }
  made.text += TableFooter(made.run, made.totals, minimum);
  return made;
}

// microsoft/superbenchmark, cuda_nccl_bw_performance.py: rows between the line with the placements
// and the one with the errors, columns counted from the end by the names in the head.
struct Superbench {
  int size = 0;
  double time = 0;
  double algbw = 0;
  double busbw = 0;
};
std::vector<Superbench> ReadAsSuperbench(const std::string& text, bool in_place) {
  const std::vector<std::string> lines = Lines(text);
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (Has(lines[i], "out-of-place")) begin = i + 1;
    if (Has(lines[i], "Out of bounds values")) end = i;
  }
  std::vector<std::string> head;
  std::vector<Superbench> rows;
  for (std::size_t i = begin; i < end; ++i) {
    if (head.empty() && Has(lines[i], "time") && Has(lines[i], "busbw")) {
      head = Fields(lines[i].substr(1));
    }
    const std::vector<std::string> fields = Fields(lines[i]);
    if (fields.empty() || std::isdigit(static_cast<unsigned char>(fields[0][0])) == 0) continue;
    const auto column = [&](const std::string& name) {
      const auto at = in_place ? std::find(head.rbegin(), head.rend(), name).base() - 1
                               : std::find(head.begin(), head.end(), name);
      return std::stod(fields[fields.size() - static_cast<std::size_t>(head.end() - at)]);
    };
    rows.push_back({std::stoi(fields[0]), column("time"), column("algbw"), column("busbw")});
  }
  return rows;
}

TEST(NcclTestsParsersTest, SuperbenchCountsColumnsFromTheEnd) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather,
                                      Collective::kBroadcast, Collective::kAllToAll}) {
    for (const bool in_place : {false, true}) {
      for (const int checks : {0, 1}) {
        const Made made = MakeRun(collective, 8, {.checks = checks});
        const auto rows = ReadAsSuperbench(made.text, in_place);
        ASSERT_THAT(rows, SizeIs(made.rows.size()));
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const RowSide& side = in_place ? *made.rows[i].in_place : made.rows[i].out_of_place;
          EXPECT_EQ(rows[i].size, static_cast<int>(made.rows[i].size_bytes));
          EXPECT_NEAR(rows[i].time, side.time_us, 0.5);
          EXPECT_NEAR(rows[i].algbw, side.algbw_GBps, 0.006);
          EXPECT_NEAR(rows[i].busbw, side.busbw_GBps, 0.006);
        }
      }
    }
  }
}

// NVIDIA/DCGM, NcclTestsPlugin.cpp: both lines of the end, neither with FAILED.
bool PassesDcgm(const std::string& text) {
  bool bounds = false;
  bool bandwidth = false;
  for (const std::string& line : Lines(text)) {
    const bool is_bounds = Has(line, "# Out of bounds values");
    const bool is_bandwidth = Has(line, "# Avg bus bandwidth");
    if ((is_bounds || is_bandwidth) && Has(line, "FAILED")) return false;
    bounds = bounds || is_bounds;
    bandwidth = bandwidth || is_bandwidth;
  }
  return bounds && bandwidth;
}

TEST(NcclTestsParsersTest, DcgmFindsBothLinesOfTheEnd) {
  EXPECT_TRUE(PassesDcgm(MakeRun(Collective::kAllReduce, 1).text)) << "it runs one rank";
  EXPECT_TRUE(PassesDcgm(MakeRun(Collective::kAllReduce, 8, {}, 0.1).text));
  EXPECT_FALSE(PassesDcgm(MakeRun(Collective::kAllReduce, 8, {}, 1e6).text));
  Made made = MakeRun(Collective::kAllReduce, 8);
  made.rows[0].in_place->wrong = 1;
  made.totals.Add(made.rows[0]);
  EXPECT_FALSE(PassesDcgm(TableFooter(made.run, made.totals, {})));
}

// Azure/azurehpc-health-checks, azure_nccl_allreduce.nhc: FAILED anywhere is a failure, until the
// first line with "bandwidth", whose sixth field is the number.
std::optional<double> ReadAsAzure(const std::string& text) {
  for (const std::string& line : Lines(text)) {
    if (Has(line, "FAILED")) return std::nullopt;
    if (Has(line, "bandwidth")) return std::stod(Fields(line).at(5));
  }
  return std::nullopt;
}

// facebookresearch/gcm, check_nccl.py: the first number of the line.
std::optional<double> ReadAsGcm(const std::string& text) {
  const std::regex number(R"([-+]?(\d*\.*\d+))");
  for (const std::string& line : Lines(text)) {
    std::smatch match;
    if (!Has(line, "Avg bus bandwidth")) continue;
    if (std::regex_search(line, match, number)) return std::stod(match.str());
  }
  return std::nullopt;
}

// ROCm/cvs, rccl_lib.py: no line of a known failure, and this pattern.
std::optional<double> ReadAsCvs(const std::string& text) {
  const std::regex failure(
      "ORTE does not know how to route|ORTE was unable|NCCL ERROR|Test failure|No such file");
  const std::regex average(R"(#\sAvg bus bandwidth\s+:\s+([0-9.]+))");
  std::smatch match;
  if (std::regex_search(text, failure)) return std::nullopt;
  if (!std::regex_search(text, match, average)) return std::nullopt;
  return std::stod(match.str(1));
}

// FlagOpen/FlagPerf, main.sh: the last field of the line.
double ReadAsFlagPerf(const std::string& text) {
  double value = -1;
  for (const std::string& line : Lines(text)) {
    if (Has(line, "# Avg bus bandwidth")) value = std::stod(Fields(line).back());
  }
  return value;
}

TEST(NcclTestsParsersTest, AverageIsFoundInTheFooter) {
  for (const bool per_iteration : {false, true}) {
    for (const Blocking blocking :
         {Blocking::kNone, Blocking::kCallBarrier, Blocking::kCall, Blocking::kIterationBarrier}) {
      for (const int ranks : {1, 8}) {
        NcclTestsOptions options;
        options.blocking = blocking;
        options.per_iteration = per_iteration;
        options.per_iteration_skip = per_iteration ? 1 : 0;
        const Made made = MakeRun(Collective::kAllReduce, ranks, options);
        const double average = made.totals.average_busbw_GBps();
        EXPECT_NEAR(ReadAsAzure(made.text).value_or(-1), average, 1e-3);
        EXPECT_NEAR(ReadAsGcm(made.text).value_or(-1), average, 1e-3);
        EXPECT_NEAR(ReadAsCvs(made.text).value_or(-1), average, 1e-3);
        EXPECT_NEAR(ReadAsFlagPerf(made.text), average, 1e-3);
      }
    }
  }
  EXPECT_EQ(ReadAsAzure(MakeRun(Collective::kAllReduce, 8, {.checks = 0}, 0.1).text),
            ReadAsGcm(MakeRun(Collective::kAllReduce, 8, {.checks = 0}, 0.1).text));
}

// aws-samples/awsome-distributed-training, nccl_to_csv.py: one pattern for a whole row.
std::vector<std::vector<std::string>> ReadAsAwsCsv(const std::string& text) {
  const std::regex row(
      R"((\d+)\s+(\d+)\s+(float|double|int|half)\s+(sum|prod|max|min|none)\s+(-?\d+)\s+)"
      R"((\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+|N/A)\s+)"
      R"((\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+\.?\d*)\s+(\d+|N/A).*)");
  std::vector<std::vector<std::string>> rows;
  for (std::string line : Lines(text)) {
    line.erase(0, line.find_first_not_of(' '));
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    rows.emplace_back();
    for (std::size_t i = 1; i < match.size(); ++i) rows.back().push_back(match.str(i));
  }
  return rows;
}

TEST(NcclTestsParsersTest, AwsCsvMatchesWholeRows) {
  const auto rows = ReadAsAwsCsv(MakeRun(Collective::kAllReduce, 8).text);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[2], ElementsAre("67108864", "16777216", "float", "sum", "-1", "25000.0", "2.68",
                                   "4.70", "0", "50000.0", "1.34", "2.35", "0"));
  const auto alltoall = ReadAsAwsCsv(MakeRun(Collective::kAllToAll, 8).text);
  ASSERT_THAT(alltoall, SizeIs(3));
  EXPECT_EQ(alltoall[1][3], "none");
  EXPECT_EQ(alltoall[1][12], "N/A");
  EXPECT_EQ(ReadAsAwsCsv(MakeRun(Collective::kBroadcast, 8).text)[0][4], "0");
}

// awsome-distributed-training, 5-nccl-allreduce.sh: lines that begin with blanks and a digit have
// the in-place busbw in the last field but one; of 13 fields the 8th and 12th are busbw, the 9th
// and 13th the wrong elements.
TEST(NcclTestsParsersTest, AwsHealthCheckTakesFixedFields) {
  const Made made = MakeRun(Collective::kAllReduce, 8);
  const std::regex row(R"(\s+[0-9].*)");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : Lines(made.text)) {
    if (std::regex_match(line, row)) rows.push_back(Fields(line));
  }
  ASSERT_THAT(rows, SizeIs(made.rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_THAT(rows[i], SizeIs(13));
    EXPECT_NEAR(std::stod(rows[i][11]), made.rows[i].in_place->busbw_GBps, 0.006);
    EXPECT_NEAR(std::stod(rows[i][7]), made.rows[i].out_of_place.busbw_GBps, 0.006);
    EXPECT_EQ(rows[i][8], "0");
    EXPECT_EQ(rows[i][12], "0");
  }
}

// NVIDIA/nccl-tests, util.cu: how it reads its own device lines for the JSON file.
TEST(NcclTestsParsersTest, DeviceLinesHaveTheFieldsOfNcclTests) {
  int found = 0;
  for (const std::string& line : Lines(MakeRun(Collective::kAllReduce, 8).text)) {
    int rank = 0;
    int group = -1;
    int pid = 0;
    int device = -1;
    char host[64] = "";
    char bus[64] = "";
    char name[64] = "";
    const int fields = std::sscanf(  // NOLINT(cert-err34-c): the rule under test
        line.c_str(), "#  Rank %d Group %d Pid %d on %63s device %d [%63[^]]] %63[^\n]", &rank,
        &group, &pid, host, &device, bus, name);
    if (fields != 7) continue;
    EXPECT_EQ(rank, found);
    EXPECT_EQ(group, 0);
    EXPECT_EQ(pid, 4000 + rank);
    EXPECT_EQ(device, rank);
    EXPECT_STREQ(host, "node-01");
    EXPECT_STREQ(bus, "0000:00:00");
    EXPECT_STREQ(name, "CPU AMD EPYC");
    ++found;
  }
  EXPECT_EQ(found, 8);
}

// NVIDIA/nccl-tests, tools/analyze_perf_json.py: a process row for each process, and times_us is
// their greatest, iteration by iteration.
TEST(NcclTestsParsersTest, PerIterationJsonIsConsistent) {
  Made made = MakeRun(Collective::kAllReduce, 2, {.iterations = 2, .per_iteration = true});
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("nccl_parsers" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  made.run.options.json_path = (folder / "x.json").string();
  NcclTestsJson file(made.run, {});
  TableRow row = made.rows[2];
  row.out_of_place.iterations =
      IterationTimes{.times_us = {5, 7}, .process_times_us = {{5, 6}, {4, 7}}};
  file.Add(row);
  std::ifstream stream(file.path());
  const nlohmann::json json = nlohmann::json::parse(stream);
  std::filesystem::remove_all(folder);

  const auto& result = json["results"][0];
  EXPECT_EQ(result["size"].get<int>(), 67108864);
  EXPECT_EQ(std::stoi(result["root"].get<std::string>()), -1);
  EXPECT_NEAR(result["out_of_place"]["bus_bw"].get<double>(), row.out_of_place.busbw_GBps, 1e-9);
  const auto& iterations = result["out_of_place_per_iter"];
  const auto& processes = iterations["per_process_max_times_us"];
  ASSERT_EQ(processes.size(), 2U);
  for (std::size_t i = 0; i < iterations["times_us"].size(); ++i) {
    EXPECT_EQ(iterations["times_us"][i].get<double>(),
              std::max(processes[0][i].get<double>(), processes[1][i].get<double>()));
  }
  EXPECT_EQ(iterations["max_us"].get<double>() / iterations["avg_us"].get<double>(), 7.0 / 6);
}

// Lines of our own must not be taken for those that wrappers look for.
TEST(NcclTestsParsersTest, OwnLinesHaveNoneOfTheWordsThatAreSearchedFor) {
  for (const Blocking blocking :
       {Blocking::kCallBarrier, Blocking::kCall, Blocking::kIterationBarrier}) {
    NcclTestsOptions options;
    options.blocking = blocking;
    options.per_iteration = true;
    options.per_iteration_skip = 1;
    for (const std::string& line : Lines(MakeRun(Collective::kAllReduce, 1, options).text)) {
      if (Has(line, "out-of-place")) break;
      EXPECT_FALSE(Has(line, "bandwidth") || Has(line, "FAILED")) << line;
      EXPECT_FALSE(Has(line, "time") && Has(line, "busbw")) << line;
    }
  }
}

}  // namespace
}  // namespace hockney
