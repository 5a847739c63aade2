#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tuner/training/model_description.h"
#include "tuner/training/step_graph.h"

namespace hockney {

// What one accelerator can do. Peaks are of dense products.
struct Accelerator {
  std::string_view name;
  double half_flops = 0;    // 1/s, bfloat16 and float16
  double single_flops = 0;  // 1/s, float32, as TF32 where there is that
  double memory_Bps = 0;    // bytes per second
  std::string_view source;
};

std::span<const Accelerator> AllAccelerators();
// The accelerator, whatever the case of letters, or null.
const Accelerator* FindAccelerator(std::string_view name);

// Seconds of the passes of a unit, measured on an accelerator, for one sample.
struct UnitTimes {
  double forward_seconds = 0;
  double backward_seconds = 0;
};

// How long computing takes: by units where they were measured, else by flops over the peak and
// memory traffic over the memory's rate.
struct ComputeCost {
  double flops_per_second = 0;  // peak x efficiency
  double bytes_per_second = 0;
  std::map<std::string, UnitTimes> units = {};  // by name
};

ComputeCost CostOf(const Accelerator& accelerator, DataType type, double efficiency);

// Reads measured times: CSV with the columns unit, forward_ms, backward_ms, of one sample each.
// `block` as a unit stands for every repeated layer. Throws InputError file:line:column.
std::map<std::string, UnitTimes> ReadLayerTimes(const std::string& path,
                                                const ModelDescription& model);

// Sets the seconds of all computing nodes. `samples` are those of a micro-batch. Throws
// std::invalid_argument naming a unit whose time is missing where some are given and there are no
// flops to go by.
void AssignTimes(StepGraph& graph, const ModelDescription& model, std::int64_t samples,
                 const ComputeCost& cost);

}  // namespace hockney
