#pragma once

#include <cstdint>
#include <optional>

#include "collectives/types.h"

namespace hockney {

// What nccl-tests means by size and bus bandwidth, so that numbers can be set side by side.

// Bus bandwidth over algorithm bandwidth (size column / time): the share of the size that a flat
// ring moves through each rank's link. 2(n-1)/n for all_reduce, (n-1)/n for reduce_scatter,
// all_gather, all_to_all(_v), gather and scatter, 1 for broadcast, reduce and send_recv. Nothing
// for barrier, and for one rank, which sends nothing (nccl-tests says 0 or 1 there, by collective):
// such a row has no bus bandwidth and stays out of averages. Offload in the network may lift the
// result above the link's rate. Throws std::invalid_argument if ranks < 1.
std::optional<double> BusFactor(Collective collective, int ranks);

// The size column in bytes for `count` elements per rank: count * ranks * element for all_gather,
// reduce_scatter, all_to_all(_v), gather and scatter (there `count` is one rank's block), count *
// element otherwise, 0 for barrier. Throws std::invalid_argument if ranks < 1 and
// std::overflow_error above 2^64-1 bytes.
std::uint64_t SizeBytes(Collective collective, std::uint64_t count, DataType type, int ranks);

// GB/s (1e9 bytes) of `bytes` in `us` microseconds.
inline double RateGBps(std::uint64_t bytes, double us) {
  return static_cast<double>(bytes) / us / 1e3;
}

// The inverse of SizeBytes: the largest count whose SizeBytes is at most `size_bytes` (0 where the
// size is under one element for each rank, and for barrier). Callers report SizeBytes of this
// count, not the size asked for, as nccl-tests does. Some versions of nccl-tests cut a block
// further, to a multiple of 4 elements; that is not done here.
std::uint64_t CountForSize(Collective collective, std::uint64_t size_bytes, DataType type,
                           int ranks);

}  // namespace hockney
