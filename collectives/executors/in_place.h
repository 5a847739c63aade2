#pragma once

#include "collectives/executors/executor.h"

namespace hockney {

// Whether the input and output of `rank` overlap at NCCL's in-place offsets (Layout::FindInPlace).
// False at a rank where either is empty or null: whether the call as a whole is in place, the ranks
// have to tell each other. Throws std::invalid_argument if they overlap in another way.
bool IsInPlace(const Call& call, const Layout& layout, int rank);

}  // namespace hockney
