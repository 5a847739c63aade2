#pragma once

#include <string>
#include <string_view>

#include "topology/gpu_topology.h"

namespace hockney {

// Returns what the output of `nvidia-smi topo -m` says, as drivers of all ages print it: columns
// are told by their header (by the rows' own names where it is cut off), tabs and blanks are the
// same, terminal colours and CR are dropped, text around the matrix and the legends are no rows.
// N/A in an affinity column, also [N/A], is not known. A path nobody knows and a path that is
// unlike in its two directions become the farthest, with a note. Text without a matrix, as where
// the command failed, gives a topology that is unknown_because. Throws InputError naming `file`,
// line and column for a row that is shorter than the header, shifted or doubled.
GpuTopology ParseNvidiaTopo(std::string_view text, std::string_view file);

// The same of the file `path`.
GpuTopology ReadNvidiaTopo(const std::string& path);

}  // namespace hockney
