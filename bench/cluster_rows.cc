#include "bench/cluster_rows.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "topology/cluster_preset.h"
#include "topology/cluster_texts.h"

namespace hockney {
namespace {

using Number = ClusterPreset::Number;

std::string Text(const std::optional<Number>& number) {
  return number ? fmt::format("{:g}", number->value) : "-";
}

std::string SwitchText(const ClusterPreset& preset) {
  std::string text;
  for (const ClusterPreset::Switch& level : preset.switches) {
    text += fmt::format("{}{} nodes {:g}:1", text.empty() ? "" : ", ", level.nodes.value,
                        level.oversubscription.value);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::vector<std::vector<std::string>> ClusterRows() {
  std::vector<std::vector<std::string>> rows = {{"cluster", "GPU", "a node", "NVLink GB/s", "NVLS",
                                                 "NICs", "GB/s each", "switches", "memory GB/s",
                                                 "bfloat16 TFLOPS"}};
  for (const ClusterPreset& preset : AllClusterPresets()) {
    const auto peak = preset.peak_TFLOPS.find("bfloat16");
    rows.push_back({preset.name, preset.gpu.empty() ? "-" : preset.gpu, Text(preset.gpus_per_node),
                    preset.nvlink ? Text(preset.nvlink->rate_GBps) : "-",
                    preset.nvls ? "yes" : "no", Text(preset.nic.count), Text(preset.nic.rate_GBps),
                    SwitchText(preset), Text(preset.gpu_memory_GBps),
                    peak == preset.peak_TFLOPS.end() ? "-" : Text(peak->second)});
  }
  return rows;
}

nlohmann::ordered_json ClusterJson() {
  auto list = nlohmann::ordered_json::array();
  for (const ClusterText& each : ClusterTexts()) {
    list.push_back(nlohmann::ordered_json::parse(each.text));
  }
  return list;
}

}  // namespace hockney
