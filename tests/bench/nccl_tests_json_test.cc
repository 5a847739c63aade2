#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/nccl_tests/json.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::system_clock;
namespace fs = std::filesystem;

class NcclTestsJsonTest : public ::testing::Test {
 protected:
  NcclTestsJsonTest() {
    fs::create_directories(folder_);
    run_.program = "all_reduce_perf";
    run_.devices = {{.rank = 0, .pid = 11, .host = "node-01", .device = 0, .cpu = "AMD EPYC 7763"},
                    {.rank = 1, .pid = 12, .host = "node-01", .device = 1, .cpu = "AMD EPYC 7763"}};
    run_.options.json_path = (folder_ / "x.json").string();
    run_.options.factor = 2;
    run_.options.iterations = 3;
  }
  ~NcclTestsJsonTest() override { fs::remove_all(folder_); }
  NcclTestsJsonTest(const NcclTestsJsonTest&) = delete;
  NcclTestsJsonTest& operator=(const NcclTestsJsonTest&) = delete;

  static Json Read(const std::string& path) {
    std::ifstream file(path);
    return Json::parse(file);
  }

  static std::vector<std::string> Keys(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.push_back(key);
    return keys;
  }

  TableRow Row() const {
    TableRow row{.size_bytes = 33554432, .count = 8388608};
    row.out_of_place = MakeSide(run_, row.size_bytes, 1000);
    row.out_of_place.wrong = 0;
    row.in_place = MakeSide(run_, row.size_bytes, 2000);
    return row;
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("nccl_json" + std::to_string(getpid()));
  NcclTestsRun run_;
};

TEST_F(NcclTestsJsonTest, KeysAreThoseOfSchemaVersion3) {
  NcclTestsJson file(run_, {.arguments = {"all_reduce_perf", "-n", "3"},
                            .environment = {"NCCL_TESTS_MIN_BW=1", "AWS_SECRET_ACCESS_KEY=x"}});
  EXPECT_EQ(file.Note(), "# Writing JSON output to " + run_.options.json_path + "\n");
  file.Add(Row());
  RunTotals totals;
  totals.Add(Row());
  file.Finish(totals, std::nullopt, {}, Clock::now());
  const Json json = Read(file.path());
  EXPECT_THAT(Keys(json), ElementsAre("version", "start_time", "args", "env", "nccl_version",
                                      "config", "results", "out_of_bounds", "average_bus_bandwidth",
                                      "errors", "end_time"));
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["args"], Json({"all_reduce_perf", "-n", "3"}));
  EXPECT_EQ(json["env"], Json::array({"NCCL_TESTS_MIN_BW=1"})) << "secrets stay out";
  EXPECT_TRUE(json["nccl_version"].is_null());
  EXPECT_THAT(Keys(json["config"]),
              ElementsAre("nthreads", "ngpus", "minimum_bytes", "maximum_bytes", "step_factor",
                          "warmup_iters", "iterations", "aggregated_iterations", "validation",
                          "graph", "blocking_collectives", "per_iter_timing", "per_iter_skip",
                          "parallel_init", "devices"));
  EXPECT_EQ(json["config"]["blocking_collectives"], "false");
  EXPECT_EQ(json["config"]["devices"].size(), 2U) << "every rank, not one a process";
  EXPECT_THAT(
      Keys(json["config"]["devices"][1]),
      ElementsAre("rank", "group", "pid", "hostname", "device", "device_hex", "device_info"));
  EXPECT_EQ(json["config"]["devices"][1]["device_info"], "CPU AMD EPYC 7763");
  EXPECT_EQ(json["out_of_bounds"], Json({{"count", 0}, {"okay", "true"}}));
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_DOUBLE_EQ(json["average_bus_bandwidth"]["bandwidth"], 33.554432 * 0.75);
  EXPECT_EQ(json["errors"], Json::array());
}

TEST_F(NcclTestsJsonTest, RowsHoldBothSides) {
  NcclTestsJson file(run_, {});
  file.Add(Row());
  const Json row = Read(file.path())["results"][0];
  EXPECT_THAT(Keys(row), ElementsAre("size", "count", "type", "redop", "root", "out_of_place",
                                     "in_place", "actual_iterations", "experiment_name"));
  EXPECT_EQ(row["type"], "float");
  EXPECT_EQ(row["redop"], "sum");
  EXPECT_EQ(row["root"], "    -1");
  EXPECT_EQ(row["actual_iterations"], 3);
  EXPECT_THAT(Keys(row["out_of_place"]), ElementsAre("time", "alg_bw", "bus_bw", "nwrong"));
  EXPECT_EQ(row["out_of_place"]["time"], 1000.0);
  EXPECT_DOUBLE_EQ(row["out_of_place"]["alg_bw"], 33.554432);
  EXPECT_TRUE(row["out_of_place"]["nwrong"].is_number_float());
  EXPECT_TRUE(row["in_place"]["nwrong"].is_null());
  TableRow apart_only = Row();
  apart_only.in_place.reset();
  file.Add(apart_only);
  EXPECT_TRUE(Read(file.path())["results"][1]["in_place"].is_null());
}

TEST_F(NcclTestsJsonTest, IterationsKeepAllTimes) {
  run_.options.per_iteration = true;
  run_.options.per_iteration_skip = 1;
  run_.options.factor = 1;
  NcclTestsJson file(run_, {});
  TableRow row = Row();
  row.out_of_place.iterations = IterationTimes{
      .skipped = 1, .times_us = {9, 3, 2}, .process_times_us = {{9, 1, 2}, {8, 3, 2}}};
  row.in_place->iterations = IterationTimes{.skipped = 1, .times_us = {9, 3, 2}};
  file.Add(row);
  const Json json = Read(file.path());
  EXPECT_EQ(json["config"]["step_bytes"], 1048576);
  EXPECT_EQ(json["config"]["per_iter_timing"], "true");
  const Json& result = json["results"][0];
  EXPECT_THAT(Keys(result), ElementsAre("size", "count", "type", "redop", "root", "out_of_place",
                                        "out_of_place_per_iter", "in_place", "in_place_per_iter",
                                        "actual_iterations", "experiment_name"));
  const Json& apart = result["out_of_place_per_iter"];
  EXPECT_THAT(Keys(apart),
              ElementsAre("skipped_iterations", "min_us", "max_us", "avg_us", "p50_us", "p95_us",
                          "p99_us", "stdev_us", "cv_pct", "times_us", "per_process_max_times_us"));
  EXPECT_EQ(apart["max_us"], 3.0) << "the skipped iteration is not in the statistics";
  EXPECT_EQ(apart["times_us"], Json({9.0, 3.0, 2.0})) << "but in the list";
  EXPECT_EQ(apart["per_process_max_times_us"][1][0], 8.0);
  EXPECT_FALSE(result["in_place_per_iter"].contains("per_process_max_times_us"));
}

TEST_F(NcclTestsJsonTest, FileIsCompleteAfterEveryStep) {
  NcclTestsJson file(run_, {});
  EXPECT_TRUE(Read(file.path())["results"].empty());
  for (std::size_t rows = 1; rows <= 3; ++rows) {
    file.Add(Row());
    EXPECT_EQ(Read(file.path())["results"].size(), rows);
  }
  RunTotals totals;
  totals.Add(Row());
  const std::vector<std::string> errors = {"rank 1 is gone"};
  file.Finish(totals, 1000.0, errors, Clock::now());
  const Json json = Read(file.path());
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "false");
  EXPECT_EQ(json["errors"], Json(errors));
}

TEST_F(NcclTestsJsonTest, ExistingFilesAreNotTouched) {
  std::ofstream(run_.options.json_path) << "old";
  const NcclTestsJson first(run_, {});
  const NcclTestsJson second(run_, {});
  EXPECT_EQ(first.path(), run_.options.json_path + ".0");
  EXPECT_EQ(second.path(), run_.options.json_path + ".1");
  std::ostringstream old;
  old << std::ifstream(run_.options.json_path).rdbuf();
  EXPECT_EQ(old.str(), "old");
}

TEST_F(NcclTestsJsonTest, UnwritablePathIsAnError) {
  run_.options.json_path = (folder_ / "missing" / "x.json").string();
  try {
    const NcclTestsJson file(run_, {});
    FAIL() << "not refused";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing/x.json"));
    EXPECT_THAT(error.what(), HasSubstr("No such file"));
  }
}

TEST_F(NcclTestsJsonTest, BytesThatAreNotUtf8AreReplaced) {
  run_.devices[0].host = "node\xff";
  const NcclTestsJson file(run_, {});
  EXPECT_EQ(Read(file.path())["config"]["devices"][0]["hostname"], "node\xef\xbf\xbd");
}

}  // namespace
}  // namespace hockney
