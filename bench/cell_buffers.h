#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/competitors.h"
#include "bench/sweep_options.h"

namespace hockney {

// How a cell uses its rank's arena, and in what portions it calls.
struct BufferPlan {
  std::size_t set_bytes = 0;    // from one set to the next
  std::size_t shift_bytes = 0;  // of a set within its place: how far it is off its alignment
  int sets = 1;
  int calls = 1;  // in one sample; each set is used once
};

// Isolated calls use one set. Streamed ones use as many as together make twice the last-level
// cache, at most 128; where four of them are more than that, one, and the calls are isolated. If
// the number of calls is given, a sample has the largest part of it that divides it and that the
// sets allow.
BufferPlan PlanBuffers(const SweepOptions& options, const Cell& cell, std::uint64_t llc_bytes);

// The cell's layout, uncut.
Layout LayoutOf(const Cell& cell);

}  // namespace hockney
