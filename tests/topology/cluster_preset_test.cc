#include "topology/cluster_preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/scratch_folder.h"
#include "topology/check.h"
#include "topology/cluster_texts.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;
using ::testing::StartsWith;

Json Number(double value, const char* unit) {
  return {{"value", value}, {"unit", unit}, {"source", "a data sheet"}, {"date", "2024"}};
}

// The least that a preset holds.
Json Smallest() {
  return {{"name", "x"},
          {"description", "made up"},
          {"gpus_per_node", Number(2, "count")},
          {"nic",
           {{"count", Number(1, "count")},
            {"rate", Number(1.25, "GB/s")},
            {"latency", Number(10, "us")}}}};
}

std::string Failure(const Json& json) {
  try {
    ParseClusterPreset(json.dump(), "c.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(ClusterPresetTest, TheCompiledOnesAreFoundByName) {
  std::vector<std::string> names;
  for (const ClusterPreset& preset : AllClusterPresets()) names.push_back(preset.name);
  EXPECT_THAT(names, ElementsAre("b200", "dgx-a100", "h100", "h200", "tcp-10g"));
  const ClusterPreset h100 = FindClusterPreset("h100");
  EXPECT_EQ(h100.gpus_per_node.value, 8);
  EXPECT_EQ(h100.generation, "hopper");
  EXPECT_EQ(h100.nvlink.value().links.value, 18);
  EXPECT_EQ(h100.nvlink.value().rate_GBps.value, 450);
  EXPECT_FALSE(h100.nvlink.value().measured_GBps);
  EXPECT_EQ(h100.nvls.value().channels.value, 16);
  EXPECT_EQ(h100.nic.count.value, 8);
  EXPECT_EQ(h100.nic.rate_GBps.value, 49);
  EXPECT_EQ(h100.switches.at(0).nodes.value, 32);
  EXPECT_EQ(h100.peak_TFLOPS.at("bfloat16").value, 989.4);
  EXPECT_EQ(FindClusterPreset("h200").nvlink.value().measured_GBps.value().value, 396.4);
  EXPECT_FALSE(FindClusterPreset("dgx-a100").nvls);
  const ClusterPreset tcp = FindClusterPreset("tcp-10g");
  EXPECT_EQ(tcp.gpu, "");
  EXPECT_FALSE(tcp.nvlink);
  EXPECT_NEAR(tcp.nic.rate_GBps.value, 10.0 / 8 * 1448 / 1514, 1e-4);
}

// A number of a collective would be compared with itself.
TEST(ClusterPresetTest, NoNumberComesFromACollective) {
  int numbers = 0;
  const std::function<void(const Json&)> check = [&](const Json& json) {
    if (json.is_object() && json.contains("source")) {
      ++numbers;
      auto source = json.at("source").get<std::string>();
      std::transform(source.begin(), source.end(), source.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      for (const char* word : {"busbw", "bus bandwidth", "algbw", "allreduce", "all-reduce",
                               "all_reduce", "nccl-tests"}) {
        EXPECT_THAT(source, ::testing::Not(HasSubstr(word)));
      }
      return;
    }
    if (json.is_structured()) {
      for (const Json& each : json) check(each);
    } else {
      EXPECT_TRUE(json.is_string()) << json << " is a number without source";
    }
  };
  for (const ClusterText& each : ClusterTexts()) check(Json::parse(each.text));
  EXPECT_GT(numbers, 80);
}

TEST(ClusterPresetTest, AFileIsReadByItsPath) {
  const ScratchFolder folder;
  std::ofstream(folder.Path("mine.json")) << Smallest();
  const ClusterPreset preset = FindClusterPreset(folder.Path("mine.json"));
  EXPECT_EQ(preset.name, "x");
  EXPECT_EQ(preset.gpus_per_node.value, 2);
  EXPECT_EQ(preset.nic.rate_GBps.source, "a data sheet");
  EXPECT_FALSE(preset.nvlink);
  EXPECT_TRUE(preset.switches.empty());
}

TEST(ClusterPresetTest, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const auto failure = [](const std::string& name) -> std::string {
    try {
      FindClusterPreset(name);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no failure";
  };
  EXPECT_EQ(failure("h1000"),
            "\"h1000\": expected one of b200, dgx-a100, h100, h200, tcp-10g, or the path of a "
            "preset's JSON file");
  EXPECT_THAT(failure("none.json"), StartsWith("none.json: cannot be read: No such file"));
}

TEST(ClusterPresetTest, WhatIsNoPresetIsNamedByItsKey) {
  struct Case {
    const char* pointer;  // what to replace; null: to remove
    Json value;
    std::string expected;
  };
  for (const Case& each : {
           Case{"/nic/rate/unit", "Gb/s", "c.json: nic.rate.unit: \"Gb/s\": expected \"GB/s\""},
           Case{"/nic/latency/unit", "ms", "c.json: nic.latency.unit: \"ms\": expected \"us\""},
           Case{"/nic/rate/value", -1,
                "c.json: nic.rate.value: -1: expected a number above 0, in "
                "GB/s"},
           Case{"/nic/rate/value", "50", "c.json: nic.rate.value: \"50\": expected a number above"},
           Case{"/nic/count/value", 1.5, "c.json: nic.count.value: 1.5: expected a whole number"},
           Case{"/nic/rate/source", "", "c.json: nic.rate.source: \"\": expected a name in quotes"},
           Case{"/nic/rate/date", 2024, "c.json: nic.rate.date: 2024: expected a name in quotes"},
           Case{"/nic/rate", 50,
                "c.json: nic.rate: 50: expected an object with \"value\", "
                "\"unit\", \"source\" and \"date\""},
           Case{"/nic/speed", 1, "c.json: nic.speed: 1: expected no member \"speed\", only"},
           Case{"/gpu", "G", "c.json: the whole: "},
           Case{"/peak_flops", {{"bf16", Number(1, "TFLOPS")}}, "c.json: peak_flops.bf16: "},
           Case{"/switches",
                Json::array({{{"name", "rack"},
                              {"nodes", Number(4, "count")},
                              {"oversubscription", Number(0.5, "ratio")}}}),
                "c.json: switches[0].oversubscription.value: 0.5: expected a ratio of at least 1"},
       }) {
    Json json = Smallest();
    json[Json::json_pointer(each.pointer)] = each.value;
    EXPECT_THAT(Failure(json), StartsWith(each.expected));
  }
  Json json = Smallest();
  json.at("nic").erase("rate");
  EXPECT_THAT(Failure(json), HasSubstr(": expected a member \"rate\""));
  json = Smallest();
  json["gpu"] = "G";
  json["generation"] = "pascal";
  EXPECT_EQ(Failure(json),
            "c.json: generation: \"pascal\": expected \"volta\", \"ampere\", "
            "\"hopper\" or \"blackwell\"");
  EXPECT_EQ(Failure(Smallest()), "no failure");
}

}  // namespace
}  // namespace hockney
