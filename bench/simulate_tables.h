#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/simulate/predict.h"
#include "tuner/simulate/simulate.h"
#include "tuner/simulate/trace.h"

namespace hockney {

// One line of `hockney simulate`.
struct SimulatedRow {
  Collective collective = Collective::kAllReduce;
  std::uint64_t size_bytes = 0;
  int ranks = 1;
  std::string algorithm = {};
  std::string protocol = {};
  std::optional<SimResult> result = {};  // nothing: `reason`
  std::string reason = {};
};

std::string SimulatedTable(std::span<const SimulatedRow> rows);
std::string SimulatedJson(std::span<const SimulatedRow> rows);

// What decided when the call ended.
std::string CriticalPathText(std::span<const CriticalStep> path,
                             std::span<const Simulation::LaneName> lanes);

// Predicted beside measured times, with the errors of sizes from `gated_bytes` on.
std::string PredictionTable(const PredictionReport& report, std::uint64_t gated_bytes);

}  // namespace hockney
