#pragma once

#include "collectives/layout.h"
#include "collectives/symbols.h"

namespace hockney {

// What a collective's definition asks of one output chunk: the sum over a set of ranks (kAllRanks
// or one rank) of input chunk `chunk`, finally reduced or not. The one place that states what each
// collective means, on chunks.
struct ChunkExpectation {
  static constexpr int kAllRanks = -1;
  int rank = kAllRanks;
  int chunk = 0;
  bool reduced = false;
};

// For chunk `chunk` of `rank`'s output under `layout`, which is no hole. Throws
// std::invalid_argument for a barrier.
ChunkExpectation ExpectChunk(const Layout& layout, int rank, int chunk);

}  // namespace hockney
