#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/competitors.h"
#include "bench/launch.h"
#include "bench/sweep_options.h"

namespace hockney {

// The cells that the options ask for, in the order they are measured. Sizes that come to the same
// count as the one before are left out; sizes below one element a rank become one element.
std::vector<Cell> MakeCells(const SweepOptions& options, int ranks);

// Runs the sweep on all ranks of the session, one host's, and returns the exit code. Rank 0 writes
// the run folder, prints the table and, at the end, the fastest choice of each size. Throws
// EnvironmentError if the ranks are on several hosts or memory is short, std::invalid_argument if
// the run folder exists.
int RunSweep(Session& session, const SweepOptions& options, const Launch& launch);

}  // namespace hockney
