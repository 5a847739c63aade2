#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/switch_tree.h"

namespace hockney {

// Returns what Slurm's topology.conf says: of the tree plugin (SwitchName=s0 Nodes=host[1-4] or
// Switches=s[0-1]) the switches with nodes as racks, and the switches right above them as pods; of
// the block plugin (BlockName=b0 Nodes=...) each block as a rack. Keys are read in any case,
// LinkSpeed and BlockSizes change nothing, # begins a comment, a backslash at a line's end
// continues it. Throws InputError with `file` for anything else: an unknown key, a switch that is
// missing, doubled, below itself or below two, a node in two racks.
SwitchTree ParseSlurmTopology(std::string_view text, std::string_view file);

// The same of the file `path`.
SwitchTree ReadSlurmTopology(const std::string& path);

// Returns the names of the switches above this node, the one next to it first, from the variables
// SLURM_TOPOLOGY_ADDR ("s1.s0.node3") and SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node") that
// Slurm gives a task; empty without switches and where the pattern does not fit.
std::vector<std::string> ParseSlurmAddress(std::string_view address, std::string_view pattern);

}  // namespace hockney
