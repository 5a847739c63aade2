#include "bench/cache_size.h"

namespace hockney {
namespace {

// The largest last-level cache that one core of a shipping server part can fill today is 96 MiB
// (stacked) and usually 32 MiB; 64 MiB is a round number above the usual.
constexpr std::uint64_t kAssumedBytes = std::uint64_t{64} << 20;

}  // namespace

LastLevelCache FindLastLevelCache(const Machine& machine, std::optional<std::uint64_t> given) {
  if (given) return {*given, "option"};
  if (!machine.last_level_cache_bytes) return {kAssumedBytes, "assumed: not readable"};
  const std::uint64_t bytes = *machine.last_level_cache_bytes;
  const auto cores = static_cast<std::uint64_t>(machine.last_level_cache_cores.value_or(1));
  if (bytes / cores > kAssumedBytes) {
    return {kAssumedBytes, "assumed: the machine shows " + std::to_string(bytes >> 20) +
                               " MiB for " + std::to_string(cores) + " core(s)"};
  }
  return {bytes, "hwloc"};
}

}  // namespace hockney
