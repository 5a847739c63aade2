#include "topology/cluster_preset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topology/check.h"
#include "topology/cluster_texts.h"
#include "topology/input_file.h"
#include "topology/json_reader.h"

namespace hockney {
namespace {

using Number = ClusterPreset::Number;

class Reader : private JsonReader {
 public:
  using JsonReader::JsonReader;

  ClusterPreset Read(const nlohmann::ordered_json& root) const {
    const JsonPlace top{root, ""};
    RequireMembers(top, {"name", "description", "gpu", "generation", "gpus_per_node", "nvlink",
                         "nvls", "nic", "switches", "pcie", "memory", "peak_flops"});
    ClusterPreset preset{.name = Text(Member(top, "name")),
                         .description = Text(Member(top, "description")),
                         .gpus_per_node = Count(top, "gpus_per_node"),
                         .nic = ReadNic(Member(top, "nic"))};
    if (root.contains("gpu")) {
      preset.gpu = Text(Member(top, "gpu"));
      preset.generation =
          Choice(Member(top, "generation"), {"volta", "ampere", "hopper", "blackwell"});
    }
    if (root.contains("nvlink")) preset.nvlink = ReadNvlink(Member(top, "nvlink"));
    if (root.contains("nvls")) preset.nvls = ReadNvls(Member(top, "nvls"));
    if (root.contains("switches")) {
      for (const JsonPlace& each : Entries(Member(top, "switches"))) {
        preset.switches.push_back(ReadSwitch(each));
      }
    }
    if (root.contains("pcie")) preset.pcie_GBps = ReadPcie(Member(top, "pcie"));
    if (root.contains("memory")) ReadMemory(Member(top, "memory"), &preset);
    if (root.contains("peak_flops")) ReadPeaks(Member(top, "peak_flops"), &preset);
    return preset;
  }

 private:
  Number ReadNumber(const JsonPlace& place, std::string_view unit) const {
    RequireMembers(place, {"value", "unit", "source", "date"});
    Choice(Member(place, "unit"), {unit});
    const JsonPlace value = Member(place, "value");
    const bool positive = value.value.is_number() && value.value.get<double>() > 0;
    if (!positive) Fail(value, fmt::format("a number above 0, in {}", unit));
    return {.value = value.value.get<double>(),
            .source = Text(Member(place, "source")),
            .date = Text(Member(place, "date"))};
  }
  Number Of(const JsonPlace& place, const std::string& name, std::string_view unit) const {
    return ReadNumber(Member(place, name), unit);
  }
  std::optional<Number> Maybe(const JsonPlace& place, const std::string& name,
                              std::string_view unit) const {
    if (!place.value.contains(name)) return std::nullopt;
    return Of(place, name, unit);
  }
  // A whole number.
  Number Count(const JsonPlace& place, const std::string& name) const {
    Number number = Of(place, name, "count");
    if (number.value != std::floor(number.value)) {
      Fail(Member(Member(place, name), "value"), "a whole number above 0, in count");
    }
    return number;
  }

  ClusterPreset::Nvlink ReadNvlink(const JsonPlace& place) const {
    RequireMembers(place, {"links", "rate", "measured", "latency"});
    return {.links = Count(place, "links"),
            .rate_GBps = Of(place, "rate", "GB/s"),
            .measured_GBps = Maybe(place, "measured", "GB/s"),
            .latency_us = Of(place, "latency", "us")};
  }

  ClusterPreset::Nvls ReadNvls(const JsonPlace& place) const {
    RequireMembers(place, {"channels", "channels_over_nodes"});
    return {.channels = Count(place, "channels"),
            .channels_over_nodes = Count(place, "channels_over_nodes")};
  }

  ClusterPreset::Nic ReadNic(const JsonPlace& place) const {
    RequireMembers(place, {"count", "rate", "latency"});
    return {.count = Count(place, "count"),
            .rate_GBps = Of(place, "rate", "GB/s"),
            .latency_us = Of(place, "latency", "us")};
  }

  ClusterPreset::Switch ReadSwitch(const JsonPlace& place) const {
    RequireMembers(place, {"name", "nodes", "oversubscription"});
    ClusterPreset::Switch level{.name = Text(Member(place, "name")),
                                .nodes = Count(place, "nodes"),
                                .oversubscription = Of(place, "oversubscription", "ratio")};
    if (level.oversubscription.value < 1) {
      Fail(Member(Member(place, "oversubscription"), "value"), "a ratio of at least 1");
    }
    return level;
  }

  Number ReadPcie(const JsonPlace& place) const {
    RequireMembers(place, {"rate"});
    return Of(place, "rate", "GB/s");
  }

  void ReadMemory(const JsonPlace& place, ClusterPreset* preset) const {
    RequireMembers(place, {"host", "gpu", "gpu_capacity"});
    preset->host_memory_GBps = Maybe(place, "host", "GB/s");
    preset->gpu_memory_GBps = Maybe(place, "gpu", "GB/s");
    preset->gpu_memory_GB = Maybe(place, "gpu_capacity", "GB");
  }

  void ReadPeaks(const JsonPlace& place, ClusterPreset* preset) const {
    RequireMembers(
        place, {"float64", "float32", "tf32", "bfloat16", "float16", "float8", "int8", "float4"});
    for (const auto& [type, value] : place.value.items()) {
      preset->peak_TFLOPS[type] = ReadNumber({value, place.path + "." + type}, "TFLOPS");
    }
  }
};

}  // namespace

ClusterPreset ParseClusterPreset(std::string_view text, std::string_view file) {
  return Reader(file).Read(ParseJsonInput(text, file));
}

std::vector<ClusterPreset> AllClusterPresets() {
  std::vector<ClusterPreset> presets;
  presets.reserve(ClusterTexts().size());
  for (const ClusterText& each : ClusterTexts()) {
    presets.push_back(ParseClusterPreset(each.text, each.file));
  }
  std::sort(presets.begin(), presets.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return presets;
}

ClusterPreset FindClusterPreset(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json")) {
    return ParseClusterPreset(ReadInputFile(name_or_path), name_or_path);
  }
  std::vector<std::string> names;
  for (ClusterPreset& preset : AllClusterPresets()) {
    if (preset.name == name_or_path) return std::move(preset);
    names.push_back(preset.name);
  }
  throw InputError(fmt::format("\"{}\": expected one of {}, or the path of a preset's JSON file",
                               name_or_path, fmt::join(names, ", ")));
}

}  // namespace hockney
