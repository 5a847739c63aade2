#pragma once

#include "topology/cluster_preset.h"
#include "tuner/simulate/machine.h"

namespace hockney {

// The machine of a cluster that is known by its parts only, with `ranks` ranks in block order, as
// many a node as the preset has GPUs (a last node may have fewer). NICs of a node are one resource;
// of the switches the first that spans several nodes is the level of racks, and what it lets out is
// shared as its oversubscription says. Throws std::invalid_argument for ranks < 1.
SimMachine MachineOfPreset(const ClusterPreset& preset, int ranks);

}  // namespace hockney
