#include "bench/clock/drift_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace hockney {
namespace {

// A line holds as long as the temperature of a quartz does.
constexpr double kKeepNs = 20e9;
constexpr std::size_t kLeastKept = 8;
// By how much a rate may change unseen since the last point: what a quartz does in seconds. What a
// time daemon does more shows in the next check.
constexpr double kRateChange = 1e-7;
constexpr double kSigmas = 4;
constexpr double kLeastGapNs = 0.25e9;  // over which a rate can be told from scatter
// What even points of the shortest round trip scatter by.
constexpr double kLeastScatter = 0.02;  // of that trip
constexpr double kClockReadNs = 5;

double Difference(std::int64_t a, std::int64_t b) { return static_cast<double>(a - b); }

std::int64_t Part(std::int64_t ns, double fraction) {
  return std::llround(static_cast<double>(ns) * fraction);
}

double StatisticalErrorNs(const ClockFit& fit, std::int64_t ns) {
  return kSigmas *
         std::hypot(fit.level_error_ns, fit.drift_error * Difference(ns, fit.map.from_ns));
}

// A straight line and the variances of its two parameters.
struct Line {
  double middle = 0;  // of x, weighted
  double level = 0;   // there
  double slope = 0;
  double level_variance = 0;
  double slope_variance = 0;
};

struct WeightedPoint {
  double x = 0;
  double y = 0;
  double weight = 0;  // 1 / variance that is expected
};

Line FitLine(const std::vector<WeightedPoint>& points) {
  Line line;
  double weights = 0;
  for (const WeightedPoint& p : points) {
    weights += p.weight;
    line.middle += p.weight * p.x;
    line.level += p.weight * p.y;
  }
  line.middle /= weights;
  line.level /= weights;
  double xx = 0;
  double xy = 0;
  for (const WeightedPoint& p : points) {
    xx += p.weight * (p.x - line.middle) * (p.x - line.middle);
    xy += p.weight * (p.x - line.middle) * (p.y - line.level);
  }
  if (xx > 0) line.slope = xy / xx;
  double squares = 0;
  for (const WeightedPoint& p : points) {
    const double miss = p.y - line.level - line.slope * (p.x - line.middle);
    squares += p.weight * miss * miss;
  }
  // The scatter found scales the one expected, down as well as up.
  const double scale = points.size() > 2 ? squares / static_cast<double>(points.size() - 2) : 1;
  line.level_variance = scale / weights;
  line.slope_variance = xx > 0 ? scale / xx : 0;
  return line;
}

}  // namespace

std::int64_t ClockMap::Apply(std::int64_t ns) const {
  return to_ns + (ns - from_ns) + Part(ns - from_ns, drift);
}

std::int64_t ClockMap::Invert(std::int64_t ns) const {
  return from_ns + (ns - to_ns) - Part(ns - to_ns, drift / (1 + drift));
}

ClockMap ClockMap::Then(const ClockMap& next) const {
  return {.from_ns = from_ns,
          .to_ns = next.Apply(to_ns),
          .drift = drift + next.drift + drift * next.drift};
}

double ClockFit::ErrorNs(std::int64_t ns) const {
  const double age_ns = std::max(0.0, Difference(ns, newest_ns));
  return half_trip_ns + std::max(StatisticalErrorNs(*this, ns), surprise_ns) +
         (kRateChange + surprise_drift) * age_ns;
}

void DriftFit::Add(const std::vector<ClockPoint>& points) {
  points_.insert(points_.end(), points.begin(), points.end());
  DropOld();
  Fit();
}

void DriftFit::Check(const std::vector<ClockPoint>& points) {
  fit_.surprise_ns = 0;
  fit_.surprise_drift = 0;
  for (const ClockPoint& point : points) {
    const double miss = std::abs(Difference(point.remote_ns, fit_.map.Apply(point.local_ns)));
    // What a longer trip adds is the point's own uncertainty, not the fit's.
    const double own = static_cast<double>(point.trip_ns) / 2 - fit_.half_trip_ns;
    const double surprise_ns = std::max(0.0, miss - std::max(own, 0.0));
    const double gap_ns = std::max(kLeastGapNs, Difference(point.local_ns, fit_.newest_ns));
    fit_.surprise_ns = std::max(fit_.surprise_ns, surprise_ns);
    fit_.surprise_drift = std::max(fit_.surprise_drift, surprise_ns / gap_ns);
  }
}

void DriftFit::DropOld() {
  const std::int64_t newest = points_.back().local_ns;
  const auto is_old = [&](const ClockPoint& p) { return Difference(newest, p.local_ns) > kKeepNs; };
  const auto first_new = std::find_if_not(points_.begin(), points_.end(), is_old);
  const auto most =
      static_cast<std::ptrdiff_t>(points_.size() - std::min(points_.size(), kLeastKept));
  points_.erase(points_.begin(), points_.begin() + std::min(first_new - points_.begin(), most));
}

void DriftFit::Fit() {
  const auto by_trip = [](const ClockPoint& a, const ClockPoint& b) {
    return a.trip_ns < b.trip_ns;
  };
  const auto least_ns =
      static_cast<double>(std::min_element(points_.begin(), points_.end(), by_trip)->trip_ns);
  const ClockPoint& origin = points_.back();
  std::vector<WeightedPoint> weighted;
  weighted.reserve(points_.size());
  for (const ClockPoint& p : points_) {
    const double x = Difference(p.local_ns, origin.local_ns);
    const double y = Difference(p.remote_ns, origin.remote_ns) - x;
    const double scatter =
        (static_cast<double>(p.trip_ns) - least_ns) / 2 + kLeastScatter * least_ns + kClockReadNs;
    weighted.push_back({.x = x, .y = y, .weight = 1 / (scatter * scatter)});
  }
  const Line line = FitLine(weighted);
  const std::int64_t middle_ns = std::llround(line.middle);
  fit_.map = {.from_ns = origin.local_ns + middle_ns,
              .to_ns = origin.remote_ns + middle_ns + std::llround(line.level),
              .drift = line.slope};
  fit_.half_trip_ns = least_ns / 2;
  fit_.level_error_ns = std::sqrt(line.level_variance) + 1;  // readings are whole nanoseconds
  fit_.drift_error = std::sqrt(line.slope_variance);
  fit_.newest_ns = points_.back().local_ns;
}

}  // namespace hockney
