#pragma once

#include <cstdint>
#include <vector>

namespace hockney {

// Turns readings of one clock into those of another that runs at almost the same rate: exact in
// whole nanoseconds however far apart their origins lie. Plain data.
struct ClockMap {
  std::int64_t from_ns = 0;  // a moment on the first clock
  std::int64_t to_ns = 0;    // and on the second
  double drift = 0;          // how much more of the second's time passes, per time of the first

  std::int64_t Apply(std::int64_t ns) const;
  std::int64_t Invert(std::int64_t ns) const;
  // Returns the map that applies this one and then `next`.
  ClockMap Then(const ClockMap& next) const;
};

// What a clock knows about another: a map and how wrong it may be. Plain data.
struct ClockFit {
  ClockMap map = {};
  double half_trip_ns = 0;     // of the shortest round trip: what its two ways may differ by
  double level_error_ns = 0;   // statistical, at map.from_ns
  double drift_error = 0;      // statistical
  double surprise_ns = 0;      // by which the last check missed more than that
  double surprise_drift = 0;   // if it came up since the point before
  std::int64_t newest_ns = 0;  // last point

  // Bound of the error of map.Apply(ns), in nanoseconds: half a round trip, then the larger of what
  // the scatter of the points allows and what the last check showed, then what rates may change
  // since the last point.
  double ErrorNs(std::int64_t ns) const;
};

// One comparison of two clocks: the second read `remote_ns` at some moment between sending at
// `local_ns` - `trip_ns` / 2 and the answer at `local_ns` + `trip_ns` / 2.
struct ClockPoint {
  std::int64_t local_ns = 0;
  std::int64_t remote_ns = 0;
  std::int64_t trip_ns = 0;
};

// Fits a line to comparisons of two clocks. Points of long round trips count little.
class DriftFit {
 public:
  // Adds points and fits anew; points much older than the newest are dropped.
  void Add(const std::vector<ClockPoint>& points);
  // Compares points that the fit does not know yet with what it says of them.
  void Check(const std::vector<ClockPoint>& points);
  const ClockFit& fit() const { return fit_; }

 private:
  void DropOld();
  void Fit();

  std::vector<ClockPoint> points_;
  ClockFit fit_;
};

}  // namespace hockney
