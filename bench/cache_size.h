#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "topology/machine.h"

namespace hockney {

// The bytes that buffers must exceed twice to lie in memory, and where the number comes from.
struct LastLevelCache {
  std::uint64_t bytes = 0;
  std::string source;  // "option", "hwloc", "assumed: ..."

  bool is_assumed() const { return source.starts_with("assumed"); }
};

// Returns the user's number if given, else what hwloc read. Virtual machines often show a whole
// socket's cache (508 MiB shared by one core was seen) or none; more than 64 MiB a sharing core, or
// nothing, gives the assumption of 64 MiB.
LastLevelCache FindLastLevelCache(const Machine& machine, std::optional<std::uint64_t> given);

}  // namespace hockney
