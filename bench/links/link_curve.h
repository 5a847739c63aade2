#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace hockney {

// The time of one message of a size.
struct CurvePoint {
  std::uint64_t bytes = 0;
  double us = 0;
};

// How often a size is measured at least, at times apart, so that what disturbs the machine for a
// while spoils one of them; and at most, where those times differ (memory's do, by where pages lie
// and who else uses it). Messages that take longer than 10 ms are measured once, which takes long
// enough.
inline constexpr int kCurvePasses = 3;
inline constexpr int kMostCurvePasses = 9;

// Returns the times of sizes from `least_bytes` to `most_bytes`, ascending: powers of two times the
// least, the most, and sizes between those where a line through the neighbours misses one. Of
// several times of a size the median counts. The last size is smaller than `most_bytes` where the
// next would take over 0.15 s. `measure` returns the us of a message of so many bytes, or nothing
// for the user's wish to end; what was measured by then is returned, and the first size is always
// measured.
std::vector<CurvePoint> MeasureCurve(
    std::uint64_t least_bytes, std::uint64_t most_bytes,
    const std::function<std::optional<double>(std::uint64_t bytes)>& measure);

// Returns the rate in GB/s at which more bytes take longer: between the largest size and the
// largest of at most half of it; of the largest alone if there is no such.
double RateOfMore(const std::vector<CurvePoint>& curve);

}  // namespace hockney
