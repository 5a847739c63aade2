#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/scratch_folder.h"
#include "topology/check.h"
#include "tuner/model/model.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Every member with a value of its own; numbers are such that their units lose no bit.
Model Sample() {
  const PiecewiseFit fit{.line = PiecewiseLine({{0, 2e-6, 1e-9}, {4096, -1e-6, 2e-9}}),
                         .points = 21,
                         .mean_error = 0.01,
                         .largest_error = 0.25,
                         .held_out_error = 0.0625,
                         .outliers = {{32768, 498e-6, 78e-6}}};
  PiecewiseFit unsure = fit;
  unsure.held_out_error = kUnknown;
  Model model{.runs = {"a", "b"}, .refused = {"level rack: 2 sizes"}};
  model.levels.push_back({.level = "node",
                          .fit = fit,
                          .duplex_ratio = 1.5,
                          .duplex_points = 3,
                          .saturation = LevelModel::Saturation{1.25, 2.5, 4, 3},
                          .gap_us = 0.5,
                          .overhead_us = 0.25});
  model.levels.push_back({.level = "rack", .fit = unsure});
  model.algorithms.push_back({.collective = Collective::kReduceScatter,
                              .variant = "hockney ring simple",
                              .ranks = 8,
                              .nodes = 2,
                              .in_place = true,
                              .memory_kind = "host",
                              .dtype = "float32",
                              .op = "sum",
                              .mode = "isolated",
                              .fit = fit});
  model.kernels.push_back({.kernel = "sum",
                           .dtype = DataType::kBfloat16,
                           .size_class = "memory",
                           .store = "non_temporal",
                           .seconds_per_byte = Measured{0.25e-9, 4, 0.03},
                           .gamma_seconds_per_byte = Measured{0.125e-9, 4, kUnknown},
                           .node_GBps = Measured{48.5, 2, 0.125},
                           .node_ranks = 16});
  model.kernels.push_back({.kernel = "copy", .size_class = "l2", .store = "cached"});
  return model;
}

// What ReadModel makes of `text`.
Model ReadText(const std::string& text) {
  const testing::ScratchFolder folder;
  const std::string path = folder.Path("model.json");
  std::ofstream(path) << text;
  return ReadModel(path);
}

// Numbers may differ in their last bits, which units cost.
void ExpectAlike(const Json& a, const Json& b, const std::string& key) {
  ASSERT_EQ(a.type(), b.type()) << key;
  if (a.is_number_float()) {
    EXPECT_DOUBLE_EQ(a.get<double>(), b.get<double>()) << key;
  } else if (a.is_structured()) {
    ASSERT_EQ(a.size(), b.size()) << key;
    auto other = b.begin();
    for (const auto& [name, value] : a.items()) {
      ExpectAlike(value, *other++, key + "." + name);
    }
  } else {
    EXPECT_EQ(a, b) << key;
  }
}

TEST(ReadModelTest, WhatWasWrittenIsRead) {
  const Json written = ModelJson(Sample());
  const Model model = ReadText(written.dump(2));
  ExpectAlike(ModelJson(model), written, "");
  ASSERT_EQ(model.levels.size(), 2U);
  const LevelModel& node = model.levels[0];
  EXPECT_DOUBLE_EQ(node.fit.line.Seconds(1000), 3e-6);
  EXPECT_DOUBLE_EQ(node.fit.line.Seconds(8192), -1e-6 + 8192 * 2e-9);
  EXPECT_EQ(node.fit.outliers.size(), 1U);
  EXPECT_EQ(node.saturation->most_pairs, 4);
  EXPECT_TRUE(std::isnan(model.levels[1].fit.held_out_error));
  EXPECT_FALSE(model.levels[1].duplex_ratio.has_value());
  EXPECT_EQ(model.algorithms[0].collective, Collective::kReduceScatter);
  EXPECT_EQ(model.kernels[0].dtype, DataType::kBfloat16);
  EXPECT_NEAR(model.kernels[0].seconds_per_byte->value, 0.25e-9, 1e-20);
  EXPECT_FALSE(model.kernels[1].node_GBps.has_value());
}

TEST(ReadModelTest, UnknownKeysAreLeftOut) {
  Json json = ModelJson(Sample());
  json["comment"] = "by hand";
  json["levels"][0]["colour"] = 7;
  ExpectAlike(ModelJson(ReadText(json.dump())), ModelJson(Sample()), "");
}

TEST(ReadModelTest, ABrokenModelIsRefusedWithFileAndKey) {
  const auto refuses = [](const std::function<void(Json&)>& change, const char* key,
                          const char* expected) {
    Json json = ModelJson(Sample());
    change(json);
    EXPECT_THAT([&] { ReadText(json.dump()); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("model.json: "), HasSubstr(key), HasSubstr(expected))))
        << json.dump();
  };
  refuses([](Json& j) { j = 3; }, "the whole: 3", "an object");
  refuses([](Json& j) { j["schema"] = "other"; }, "schema: \"other\"", "hockney-model");
  refuses([](Json& j) { j["version"] = 2; }, "version: 2", "expected 1");
  refuses([](Json& j) { j.erase("kernels"); }, "the whole", "a member \"kernels\"");
  refuses([](Json& j) { j["levels"] = {{"a", 1}}; }, "levels: {\"a\":1}", "an array");
  refuses([](Json& j) { j["levels"][1].erase("fit"); }, "levels[1]: ", "a member \"fit\"");
  refuses([](Json& j) { j["levels"][0]["gap_us"] = "x"; }, "levels[0].gap_us: \"x\"", "a number");
  refuses([](Json& j) { j["levels"][0]["gap_us"] = -1; }, "levels[0].gap_us: -1", "at least 0");
  refuses([](Json& j) { j["levels"][0]["duplex_points"] = 1.5; }, "levels[0].duplex_points: 1.5",
          "a whole number");
  refuses([](Json& j) { j["levels"][0]["duplex_points"] = -1; }, "levels[0].duplex_points: -1",
          "a whole number");
  refuses([](Json& j) { j["levels"][0]["fit"]["segments"][0]["ns_per_byte"] = nullptr; },
          "levels[0].fit.segments[0].ns_per_byte: null", "a number");
  refuses([](Json& j) { j["levels"][0]["fit"]["segments"] = Json::array(); },
          "levels[0].fit.segments: []", "one that begins at 0");
  refuses([](Json& j) { j["levels"][0]["fit"]["segments"][1]["alpha_us"] = -100; },
          "levels[0].fit.segments", "begins below where the one before ends");
  refuses([](Json& j) { j["algorithms"][0]["collective"] = "al_reduce"; },
          "algorithms[0].collective: \"al_reduce\"", "a collective");
  refuses([](Json& j) { j["algorithms"][0]["in_place"] = 1; }, "algorithms[0].in_place: 1",
          "true or false");
  refuses([](Json& j) { j["kernels"][0]["dtype"] = "float31"; }, "kernels[0].dtype: \"float31\"",
          "a type");
  refuses([](Json& j) { j["runs"][0] = 1; }, "runs[0]: 1", "a text");
}

TEST(ReadModelTest, WhatIsNoJsonIsRefusedWithItsPlace) {
  const auto refuses = [](const char* text, const char* message) {
    EXPECT_THAT([&] { ReadText(text); }, ThrowsMessage<InputError>(HasSubstr(message)));
  };
  refuses("{\n  \"schema\": }", "model.json:2:13: ");
  refuses("", "model.json:1:1: ");
  refuses("{\"schema\": 1e999}", "expected JSON");
  EXPECT_THROW(ReadModel("/nowhere/model.json"), InputError);
}

}  // namespace
}  // namespace hockney
