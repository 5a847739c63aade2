#include "tuner/select/tuning_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

Tuning MadeUp() {
  TuningRule small{.max_bytes = 512,
                   .implementation = "hockney",
                   .algorithm = "hierarchical(direct,ring)",
                   .protocol = "simple",
                   .lanes = 8,
                   .parameters = "slices=2;store=cached",
                   .tie = true,
                   .time_us = 1.5,
                   .gain = 1.01};
  TuningRule large{.min_bytes = 513,
                   .implementation = "mpi",
                   .algorithm = "default",
                   .parameters = "library=Open MPI 4.1.4",
                   .measured = false};
  TuningTable table{.collective = Collective::kAllReduce,
                    .ranks = 4,
                    .nodes = 2,
                    .dtype = "float32",
                    .op = "sum",
                    .memory_kind = "host",
                    .in_place = true,
                    .mode = "streamed",
                    .rules = {small, large}};
  return {.runs = {"results/a"}, .tables = {table}};
}

std::string Error(const Json& json) {
  try {
    static_cast<void>(ParseTuning("t.json", json.dump()));
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(TuningJsonTest, WhatIsWrittenIsReadBack) {
  const Tuning read = ParseTuning("t.json", TuningJson(MadeUp()).dump(2));
  EXPECT_EQ(TuningJson(read), TuningJson(MadeUp()));
  const TuningTable& table = read.tables.at(0);
  EXPECT_EQ(table.nodes, 2);
  EXPECT_TRUE(table.in_place);
  EXPECT_EQ(table.rules[1].max_bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(table.rules[0].lanes, 8);
  EXPECT_FALSE(table.rules[1].lanes.has_value());
  EXPECT_FALSE(table.rules[1].measured);
}

TEST(TuningJsonTest, ReportsBesideTheTablesAreSkipped) {
  Json json = TuningJson(MadeUp());
  json["regret"] = nullptr;
  json["active_search"] = {{"share", 0.1}};
  EXPECT_EQ(ParseTuning("t.json", json.dump()).tables.size(), 1U);
}

TEST(TuningJsonTest, NoJsonIsNamedByLineAndColumn) {
  try {
    static_cast<void>(ParseTuning("t.json", "{\n \"schema\": x"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), StartsWith("t.json:2:12: expected JSON"));
  }
}

TEST(TuningJsonTest, AKeyThatIsThereTwiceIsRefused) {
  try {
    static_cast<void>(ParseTuning("t.json", R"({"schema":"hockney-tuning","schema":"x"})"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"schema\": expected each key once"));
  }
}

TEST(TuningJsonTest, EveryDriftIsNamedByItsPath) {
  const auto with = [](const std::string& pointer, const Json& value) {
    Json json = TuningJson(MadeUp());
    json[Json::json_pointer(pointer)] = value;
    return Error(json);
  };
  EXPECT_THAT(with("/schema", "hockney-model"), StartsWith("t.json: /schema: \"hockney-model\""));
  EXPECT_THAT(with("/version", 2), StartsWith("t.json: /version: 2: expected 1"));
  EXPECT_THAT(with("/tables", 3), StartsWith("t.json: /tables: 3: expected an array"));
  const std::string table = "/tables/0";
  EXPECT_THAT(with(table + "/collective", "all_star"),
              StartsWith("t.json: /tables/0/collective: \"all_star\""));
  EXPECT_THAT(with(table + "/ranks", 0), HasSubstr("/tables/0/ranks: 0"));
  EXPECT_THAT(with(table + "/nodes", 5), HasSubstr("whole number from 1 to 4"));
  EXPECT_THAT(with(table + "/dtype", "float31"), HasSubstr("/dtype: \"float31\""));
  EXPECT_THAT(with(table + "/rules", Json::array()), HasSubstr("one rule or more"));
  EXPECT_THAT(with(table + "/extra", 1), HasSubstr("\"extra\": expected no key but"));
  const std::string rule = table + "/rules/1";
  EXPECT_THAT(with(rule + "/min_bytes", 514),
              AllOf(HasSubstr("rules/1/min_bytes: 514"), HasSubstr("expected 513")));
  EXPECT_THAT(with(rule + "/min_bytes", 512), HasSubstr("rules/1/min_bytes: 512"));
  EXPECT_THAT(with(rule + "/min_bytes", -1), HasSubstr("rules/1/min_bytes: -1"));
  EXPECT_THAT(with(rule + "/min_bytes", 513.5), HasSubstr("rules/1/min_bytes: 513.5"));
  EXPECT_THAT(with(rule + "/max_bytes", 600), HasSubstr("null for the last rule"));
  EXPECT_THAT(with(rule + "/max_bytes", 12), HasSubstr("at least 513"));
  EXPECT_THAT(with(table + "/rules/0/max_bytes", nullptr), HasSubstr("null"));
  EXPECT_THAT(with(rule + "/implementation", "gloo"), HasSubstr("one of hockney, mpi, nccl"));
  EXPECT_THAT(with(rule + "/time_us", -3), HasSubstr("/time_us: -3"));
  EXPECT_THAT(with(rule + "/parameters", "b=1;a=2"), HasSubstr("ascending keys"));
}

TEST(TuningJsonTest, AlgorithmsThatDoNotExistAreRefused) {
  const auto with = [](const std::string& key, const Json& value) {
    Json json = TuningJson(MadeUp());
    json["tables"][0]["rules"][0][key] = value;
    return Error(json);
  };
  EXPECT_THAT(with("algorithm", "star"), AllOf(HasSubstr("/tables/0/rules/0/algorithm: \"star\""),
                                               HasSubstr("halving_doubling")));
  EXPECT_THAT(with("algorithm", "hierarchical"), HasSubstr("with its levels"));
  EXPECT_THAT(with("algorithm", "hierarchical(ring,star)"), HasSubstr("star"));
  EXPECT_THAT(with("protocol", "ll256"), HasSubstr("ll256"));
  EXPECT_THAT(with("lanes", 99), HasSubstr("99"));
  EXPECT_THAT(with("parameters", "slices=2;store=warm"), HasSubstr("store=warm"));
}

TEST(TuningJsonTest, MissingKeysAndSecondTablesAreRefused) {
  Json json = TuningJson(MadeUp());
  json["tables"][0]["rules"][0].erase("lanes");
  EXPECT_THAT(Error(json), HasSubstr("/tables/0/rules/0: expected a key \"lanes\""));
  json = TuningJson(MadeUp());
  json["tables"].push_back(json["tables"][0]);
  EXPECT_THAT(Error(json), HasSubstr("/tables/1: expected one table"));
  EXPECT_THAT(Error(Json::array()), HasSubstr("t.json: /: []: expected an object"));
}

}  // namespace
}  // namespace hockney
