#include "tuner/training/shard_padding.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace hockney {

std::int64_t PaddedElements(std::int64_t elements, std::int64_t shards, std::int64_t alignment) {
  if (elements < 0 || shards < 1 || alignment < 1) {
    throw std::invalid_argument(
        fmt::format("{} elements on {} shards, aligned to {}, expected from 0, 1 and 1 up",
                    elements, shards, alignment));
  }
  const std::int64_t unit = std::lcm(shards, alignment);
  return (elements + unit - 1) / unit * unit;
}

std::vector<PaddedBucket> PadBuckets(std::span<const GradientBucket> buckets, std::int64_t shards,
                                     std::int64_t alignment) {
  std::vector<PaddedBucket> padded;
  padded.reserve(buckets.size());
  for (const GradientBucket& bucket : buckets) {
    const std::int64_t elements = PaddedElements(bucket.elements, shards, alignment);
    const auto element_bytes = static_cast<std::int64_t>(ElementBytes(bucket.type));
    padded.push_back({bucket.elements, elements, elements / shards,
                      (elements - bucket.elements) * element_bytes});
  }
  return padded;
}

std::int64_t UsefulElements(const PaddedBucket& bucket, std::int64_t shard) {
  if (shard < 0 ||
      (bucket.padded_elements > 0 && shard >= bucket.padded_elements / bucket.shard_elements)) {
    throw std::invalid_argument(fmt::format("shard {} of a bucket of {} elements in shards of {}",
                                            shard, bucket.padded_elements, bucket.shard_elements));
  }
  return std::clamp<std::int64_t>(bucket.elements - shard * bucket.shard_elements, 0,
                                  bucket.shard_elements);
}

std::int64_t PaddingBytes(std::span<const PaddedBucket> buckets) {
  std::int64_t bytes = 0;
  for (const PaddedBucket& bucket : buckets) bytes += bucket.padding_bytes;
  return bytes;
}

}  // namespace hockney
