#pragma once

#include "topology/collect_topology.h"

namespace CLI {
class App;
}

namespace hockney {

// Adds --cluster-file and --slurm-topology to `command`; `sources` outlives the parse.
void AddTopologyOptions(CLI::App& command, TopologySources* sources);

// Throws UsageError if both are given. Call after the parse.
void CheckTopologyOptions(const TopologySources& sources);

}  // namespace hockney
