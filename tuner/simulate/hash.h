#pragma once

#include <cstdint>

namespace hockney {

// A hash of what `hash` stands for followed by `value`.
constexpr std::uint64_t MixHash(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 12) + (hash >> 4);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 32);
}

}  // namespace hockney
