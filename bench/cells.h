#pragma once

#include <vector>

#include "bench/competitors.h"
#include "bench/sweep_options.h"

namespace hockney {

// The cells that the options ask for, in the order they are measured: placement by placement, or,
// if `options.pairs_placements`, both placements of a size one after the other. Sizes that come to
// the same count as the one before are left out and sizes below one element a rank become one
// element, unless `options.keeps_sizes`. Throws UsageError, on every rank alike, for roots and
// sizes out of range. Where groups differ in size `ranks` is the largest one's, and only the ranks
// of the smallest one, `roots`, can be a root in all.
std::vector<Cell> MakeCells(const SweepOptions& options, int ranks, int roots);

}  // namespace hockney
