#pragma once

#include <cstdint>
#include <optional>

#include "tuner/select/measured.h"

namespace hockney {

// The simplest of hockney's choices in the cell that runs `algorithm`, or nothing.
std::optional<Choice> PlainChoice(const CellTimes& cell, std::string_view algorithm);

// What a table of thresholds chooses that was written once for all machines, as MPI libraries ship
// them: the tuner is shown beside it. Only algorithms that the cell has; nothing if it has none of
// those named. Sources of the numbers: fixed_table.cc.
std::optional<Choice> FixedChoice(Collective collective, std::uint64_t bytes,
                                  const CellTimes& cell);

}  // namespace hockney
