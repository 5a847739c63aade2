#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tuner/training/simulate_step.h"
#include "tuner/training/step_graph.h"

namespace hockney {

// Steps as a Chrome trace (chrome://tracing, Perfetto): a process a rank, a thread a stream; times
// in microseconds. `times` are of the graphs' nodes. JSON text.
std::string StepTrace(std::span<const StepGraph> graphs,
                      std::span<const std::vector<NodeTime>> times);

// The graph itself, as results/README.md describes it: groups, nodes, what they wait for.
nlohmann::ordered_json GraphJson(const StepGraph& graph);

}  // namespace hockney
