#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/competitors.h"

namespace hockney {

// Bytes that the collective cannot avoid reading and writing in memory, over all ranks: each input
// byte that is used once, each output byte once (table in results/README.md).
std::uint64_t RequiredBytes(const Layout& layout, bool in_place);

// Passes of plain copy and reduce kernels, cached and non-temporal, that all ranks make at once
// over the room of the cell's buffers: the best of their rates bounds any collective on it.
// `rooms[r]` is rank r's room as mapped here.
std::vector<Competitor> MakeBoundPasses(std::span<const std::span<std::byte>> rooms, int rank);

// The bus bandwidth in GB/s at which `required_bytes` take as long as at the best of the passes'
// rates.
double BoundBusbw(const SweepRow& row, std::uint64_t required_bytes,
                  std::span<const Competitor> passes);

}  // namespace hockney
