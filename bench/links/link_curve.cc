#include "bench/links/link_curve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tuner/bandwidth.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::uint64_t kFactor = 2;    // between sizes, before bisection
constexpr double kLongestUs = 150'000;  // of one message; longer ones are not tried
constexpr double kOnceUs = 10'000;      // from which one measurement is enough
constexpr double kSteady = 0.04;  // spread of a size's times, below which more say nothing new
constexpr double kPoorFit = 0.1;  // of a size's time, against its neighbours' line
constexpr std::size_t kMostBisections = 6;  // a round
constexpr int kBisectionRounds = 3;
constexpr double kLeastRatio = 1.3;  // of neighbouring sizes, between which none is measured

// The size half way in logarithms, a multiple of 8.
std::uint64_t Between(std::uint64_t low, std::uint64_t high) {
  const double middle = std::sqrt(static_cast<double>(low) * static_cast<double>(high));
  return std::max<std::uint64_t>(8, std::llround(middle / 8) * 8);
}

// Whether the middle half of the times is narrow.
bool IsSteady(const std::vector<double>& times) {
  return Quantile(times, 0.75) - Quantile(times, 0.25) <= kSteady * Median(times);
}

class Curve {
 public:
  explicit Curve(const std::function<std::optional<double>(std::uint64_t)>& measure)
      : measure_(measure) {}

  bool ended() const { return ended_; }
  std::vector<CurvePoint> Points() const;
  // Measures the size once more and returns its time so far.
  double Add(std::uint64_t bytes);
  // Measures sizes that have been measured once as often as it takes.
  void Repeat(const std::vector<std::uint64_t>& sizes);

 private:
  const std::function<std::optional<double>(std::uint64_t)>& measure_;
  std::map<std::uint64_t, std::vector<double>> times_ = {};
  bool ended_ = false;
};

std::vector<CurvePoint> Curve::Points() const {
  std::vector<CurvePoint> points;
  points.reserve(times_.size());
  for (const auto& [bytes, times] : times_) points.push_back({bytes, Median(times)});
  return points;
}

double Curve::Add(std::uint64_t bytes) {
  std::vector<double>& times = times_[bytes];
  const auto us = measure_(bytes);
  if (us) times.push_back(*us);
  ended_ = !us.has_value();
  if (times.empty()) {
    times_.erase(bytes);
    return 0;
  }
  return Median(times);
}

void Curve::Repeat(const std::vector<std::uint64_t>& sizes) {
  for (int pass = 1; pass < kMostCurvePasses; ++pass) {
    for (const std::uint64_t bytes : sizes) {
      if (ended_) return;
      const std::vector<double>& times = times_[bytes];
      if (Median(times) < kOnceUs && (pass < kCurvePasses || !IsSteady(times))) Add(bytes);
    }
  }
}

// Sizes beside those that a line through their neighbours misses, of which the worst.
std::vector<std::uint64_t> FindBisections(const std::vector<CurvePoint>& curve) {
  std::map<std::uint64_t, double> misses;
  for (std::size_t i = 1; i + 1 < curve.size(); ++i) {
    const CurvePoint& low = curve[i - 1];
    const CurvePoint& high = curve[i + 1];
    const double share = static_cast<double>(curve[i].bytes - low.bytes) /
                         static_cast<double>(high.bytes - low.bytes);
    const double line = low.us + share * (high.us - low.us);
    const double miss = std::abs(line - curve[i].us) / curve[i].us;
    if (miss <= kPoorFit) continue;
    for (const auto& [before, after] : {std::pair(low, curve[i]), std::pair(curve[i], high)}) {
      const auto ratio = static_cast<double>(after.bytes) / static_cast<double>(before.bytes);
      if (ratio < kLeastRatio) continue;
      double& most = misses[Between(before.bytes, after.bytes)];
      most = std::max(most, miss);
    }
  }
  std::vector<std::pair<double, std::uint64_t>> wanted;
  wanted.reserve(misses.size());
  for (const auto& [bytes, miss] : misses) wanted.emplace_back(miss, bytes);
  std::sort(wanted.rbegin(), wanted.rend());
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 0; i < std::min(kMostBisections, wanted.size()); ++i) {
    sizes.push_back(wanted[i].second);
  }
  return sizes;
}

}  // namespace

std::vector<CurvePoint> MeasureCurve(
    std::uint64_t least_bytes, std::uint64_t most_bytes,
    const std::function<std::optional<double>(std::uint64_t bytes)>& measure) {
  Curve curve(measure);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = least_bytes;;) {
    sizes.push_back(bytes);
    const double us = curve.Add(bytes);
    const bool too_long = us * static_cast<double>(kFactor) > kLongestUs;
    if (too_long || curve.ended() || bytes == most_bytes) break;
    bytes = bytes > most_bytes / kFactor ? most_bytes : bytes * kFactor;
  }
  if (!curve.ended()) curve.Repeat(sizes);
  for (int round = 0; round < kBisectionRounds && !curve.ended(); ++round) {
    sizes = FindBisections(curve.Points());
    for (const std::uint64_t bytes : sizes) {
      if (!curve.ended()) curve.Add(bytes);
    }
    if (!curve.ended()) curve.Repeat(sizes);
  }
  return curve.Points();
}

double RateOfMore(const std::vector<CurvePoint>& curve) {
  const CurvePoint& last = curve.back();
  for (auto before = curve.rbegin(); before != curve.rend(); ++before) {
    if (before->bytes > last.bytes / 2) continue;
    if (last.us <= before->us) break;
    return RateGBps(last.bytes - before->bytes, last.us - before->us);
  }
  return RateGBps(last.bytes, last.us);
}

}  // namespace hockney
