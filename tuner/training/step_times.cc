#include "tuner/training/step_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "topology/check.h"
#include "tuner/records/table.h"

namespace hockney {
namespace {

constexpr std::array<Accelerator, 6> kAccelerators = {{
    {"A100", 312e12, 156e12, 2.039e12, "NVIDIA A100 80GB SXM datasheet"},
    {"H100", 989.4e12, 494.7e12, 3.35e12, "NVIDIA H100 SXM datasheet"},
    {"H200", 989.4e12, 494.7e12, 4.8e12, "NVIDIA H200 SXM datasheet"},
    {"B200", 2250e12, 1125e12, 8e12, "NVIDIA DGX B200 datasheet, an eighth"},
    {"GB200", 2450e12, 1225e12, 8e12, "NVIDIA GB200 NVL72 datasheet, a 72nd"},
    {"MI300X", 1307.4e12, 653.7e12, 5.3e12, "AMD Instinct MI300X datasheet"},
}};

constexpr std::string_view kBlock = "block";

struct LayerTimeRow {
  std::string unit = {};
  double forward_ms = 0;
  double backward_ms = 0;

  static std::span<const Column<LayerTimeRow>> Columns() {
    static const std::array<Column<LayerTimeRow>, 3> columns = {
        {{"unit", &LayerTimeRow::unit, true},
         {"forward_ms", &LayerTimeRow::forward_ms, true},
         {"backward_ms", &LayerTimeRow::backward_ms, true}}};
    return columns;
  }
};

bool IsTime(double ms) { return std::isfinite(ms) && ms >= 0; }

}  // namespace

std::span<const Accelerator> AllAccelerators() { return kAccelerators; }

const Accelerator* FindAccelerator(std::string_view name) {
  const auto is_named = [name](const Accelerator& each) {
    return std::equal(name.begin(), name.end(), each.name.begin(), each.name.end(),
                      [](unsigned char a, unsigned char b) { return std::toupper(a) == b; });
  };
  const auto* found = std::find_if(kAccelerators.begin(), kAccelerators.end(), is_named);
  return found == kAccelerators.end() ? nullptr : found;
}

ComputeCost CostOf(const Accelerator& accelerator, DataType type, double efficiency) {
  const double peak = ElementBytes(type) <= 2 ? accelerator.half_flops : accelerator.single_flops;
  return {.flops_per_second = peak * efficiency, .bytes_per_second = accelerator.memory_Bps};
}

std::map<std::string, UnitTimes> ReadLayerTimes(const std::string& path,
                                                const ModelDescription& model) {
  std::map<std::string, UnitTimes> times;
  for (const LayerTimeRow& row : ReadTable<LayerTimeRow>(path, nullptr, UnfinishedLine::kRead)) {
    if (!IsTime(row.forward_ms) || !IsTime(row.backward_ms)) {
      throw InputError(
          fmt::format("{}: unit \"{}\": expected times of 0 ms or more", path, row.unit));
    }
    const bool is_known = row.unit == kBlock ||
                          std::any_of(model.units.begin(), model.units.end(),
                                      [&](const ModelUnit& unit) { return unit.name == row.unit; });
    if (!is_known) {
      throw InputError(fmt::format("{}: unit \"{}\": expected {} or a unit of {}, such as \"{}\"",
                                   path, row.unit, kBlock, model.name, model.units.front().name));
    }
    times[row.unit] = {row.forward_ms / 1e3, row.backward_ms / 1e3};
  }
  if (times.empty())
    throw InputError(
        fmt::format("{}: no times: expected rows of unit, forward_ms, backward_ms", path));
  return times;
}

void AssignTimes(StepGraph& graph, const ModelDescription& model, std::int64_t samples,
                 const ComputeCost& cost) {
  const auto measured = [&](int unit) -> const UnitTimes* {
    if (unit < 0) return nullptr;
    auto found = cost.units.find(model.units[unit].name);
    if (found == cost.units.end() && model.units[unit].is_block)
      found = cost.units.find(std::string(kBlock));
    return found == cost.units.end() ? nullptr : &found->second;
  };
  for (StepNode& node : graph.nodes) {
    if (node.kind != StepKind::kCompute) continue;
    if (const UnitTimes* times = measured(node.unit)) {
      const bool is_forward = node.work == StepWork::kForward;
      node.seconds = node.share * static_cast<double>(samples) *
                     (is_forward ? times->forward_seconds : times->backward_seconds);
      continue;
    }
    if (node.flops > 0 && cost.flops_per_second <= 0) {
      throw std::invalid_argument(
          fmt::format("no time of unit \"{}\": expected it among the layer times, or a device",
                      model.units[node.unit].name));
    }
    node.seconds = node.flops > 0 ? node.flops / cost.flops_per_second : 0;
    if (cost.bytes_per_second > 0) node.seconds += node.memory_bytes / cost.bytes_per_second;
  }
}

}  // namespace hockney
