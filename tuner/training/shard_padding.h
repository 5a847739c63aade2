#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/training/ddp_buckets.h"

namespace hockney {

// Buckets that are reduce-scattered are padded with zeros, each for itself, so that all ranks get
// shards of one length.

// Elements of which Megatron makes every padded bucket a multiple too, so that each begins on 256
// bytes; and with pad_buckets_for_high_nccl_busbw, for the bus bandwidth on many ranks. Source:
// NVIDIA/Megatron-LM megatron/core/distributed/param_and_grad_buffer.py.
inline constexpr std::int64_t kMegatronAlignment = 128;
inline constexpr std::int64_t kMegatronBusAlignment = std::int64_t{1} << 16;

struct PaddedBucket {
  std::int64_t elements = 0;  // without padding
  std::int64_t padded_elements = 0;
  std::int64_t shard_elements = 0;  // of every rank, padding included
  std::int64_t padding_bytes = 0;
};

// Returns the least multiple of both `shards` and `alignment` elements that holds `elements`.
// Throws std::invalid_argument for less than 1 shard or alignment, or negative elements.
std::int64_t PaddedElements(std::int64_t elements, std::int64_t shards, std::int64_t alignment = 1);

// Returns the padding of every bucket. Throws as PaddedElements.
std::vector<PaddedBucket> PadBuckets(std::span<const GradientBucket> buckets, std::int64_t shards,
                                     std::int64_t alignment = 1);

// Returns how many elements of a shard are no padding: 0 for a rank that has only padding. Throws
// std::invalid_argument for a shard that the bucket does not have.
std::int64_t UsefulElements(const PaddedBucket& bucket, std::int64_t shard);

// Returns the bytes of padding in all buckets.
std::int64_t PaddingBytes(std::span<const PaddedBucket> buckets);

}  // namespace hockney
