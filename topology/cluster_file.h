#pragma once

#include <string>
#include <string_view>

#include "topology/switch_tree.h"

namespace hockney {

// Returns what a cluster file says, our own JSON for machines without Slurm:
//   {"racks": [{"name": "rack0", "hosts": ["r0h0", "r0h[1-3]"]}],
//    "pods": [{"name": "p0", "racks": ["rack0"]}]}
// "pods" may be left out; hosts may be Slurm's hostlists. Throws InputError naming `file` and
// either line and column, for what is no JSON, or the path in it ("racks[1].hosts[0]"): for other
// members or types, empty or equal names, a host in two racks, and a rack in two pods or that is
// not there.
SwitchTree ParseClusterFile(std::string_view text, std::string_view file);

// The same of the file `path`.
SwitchTree ReadClusterFile(const std::string& path);

// Returns the tree as the text of a cluster file.
std::string FormatClusterFile(const SwitchTree& tree);

}  // namespace hockney
