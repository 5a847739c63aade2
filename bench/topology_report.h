#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "topology/gpu_topology.h"
#include "topology/topology.h"

namespace hockney {

// Most ranks whose matrix of levels is given rank by rank, and most hosts that are shown one by
// one; with more, the matrix is of hosts, and beyond that left out.
inline constexpr int kMostMatrixRanks = 32;
inline constexpr int kMostMatrixHosts = 64;

// Returns a topology as `hockney info --json` gives it: hosts with racks, pods and ranks; what each
// rank is bound to; pairs of ranks by level; the matrix of levels as rows of letters, with legend.
// In a matrix of hosts a host and itself have the farthest level of its ranks.
nlohmann::ordered_json TopologyJson(const Topology& topology);

// Returns what a file says of a host's GPUs and NICs, their matrices as rows of letters.
nlohmann::ordered_json GpuTopologyJson(const GpuTopology& topology);

}  // namespace hockney
