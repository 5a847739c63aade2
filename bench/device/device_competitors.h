#pragma once

#include <vector>

#include "bench/cell.h"

namespace hockney {

// A row of the cell by each NCCL of the context; one that cannot do it has the reason. Collective.
std::vector<Competitor> MakeNcclCompetitors(const SweepContext& context, const Cell& cell,
                                            std::span<const BufferSet> sets);

// What the competitor's calls, as the options order them, take by the clock of the context.
std::int64_t TimeOnDevice(const SweepContext& context, const Competitor& competitor);

// The competitors that are to be timed as captured graphs too, as rows of their own: all, where the
// user gave a number of calls, else those whose calls are too short for a launch each. Collective.
std::vector<Competitor> MakeGraphCompetitors(const SweepContext& context,
                                             std::span<const Competitor> competitors);

// The pass that bounds a cell's rows where all ranks share one device's memory, each of them over
// this much room; otherwise none.
std::vector<Competitor> MakeDeviceBoundPasses(const SweepContext& context, std::size_t room);

}  // namespace hockney
