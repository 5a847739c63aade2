#pragma once

#include <span>
#include <vector>

#include "bench/competitors.h"

namespace hockney {

// MPI's rows of a cell on the given buffer sets: its default, and beside it each of the library's
// own algorithms that --mpi-algorithms asks for. What cannot run, or would not be what runs, is
// there as a skipped row with a reason that all ranks agree on. Collective.
std::vector<Competitor> MakeMpiCompetitors(const SweepContext& context, const Cell& cell,
                                           std::span<const BufferSet> sets);

}  // namespace hockney
