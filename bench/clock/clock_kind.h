#pragma once

#include <cstdint>
#include <string_view>

namespace hockney {

// What the times of samples come from.
enum class ClockKind : std::uint8_t {
  kAuto,   // kTsc where all ranks run on one kernel, else kHca3
  kTsc,    // the clock of the kernel, which all its ranks read alike
  kHca3,   // GlobalClock
  kLocal,  // each rank's own durations
};

// As --clock and the column clock name them.
inline constexpr std::string_view kClockKinds[] = {"auto", "tsc", "hca3", "local"};
inline constexpr std::string_view Name(ClockKind kind) {
  return kClockKinds[static_cast<int>(kind)];
}

}  // namespace hockney
