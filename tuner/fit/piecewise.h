#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hockney {

// The time of one size: a median, or anything that stands for many samples.
struct SizePoint {
  double bytes = 0;
  double seconds = 0;
};

// T(n) = alpha + n beta from `begin_bytes` on, until the next segment begins.
struct Segment {
  double begin_bytes = 0;
  double alpha_seconds = 0;
  double beta_seconds_per_byte = 0;

  double Seconds(double bytes) const { return alpha_seconds + bytes * beta_seconds_per_byte; }
};

// Hockney's T = alpha + n beta with other parameters from one range of sizes to the next, as
// protocols and caches change. Positive, and nowhere decreasing.
class PiecewiseLine {
 public:
  // Throws std::invalid_argument unless segments ascend from 0, the first alpha is not negative,
  // every beta is positive, and no segment begins below where the one before ends.
  explicit PiecewiseLine(std::vector<Segment> segments);

  const std::vector<Segment>& segments() const { return segments_; }
  double Seconds(double bytes) const;

 private:
  std::vector<Segment> segments_;
};

// A size whose time lies off the line by more than 30 % and than five times what the others do (the
// scale of a normal distribution with their median deviation). It is fitted like the others.
struct Outlier {
  double bytes = 0;
  double seconds = 0;
  double fitted_seconds = 0;
};

struct PiecewiseFit {
  PiecewiseLine line;
  std::size_t points = 0;
  // Mean and largest of |T - t| / t over the points that were fitted.
  double mean_error = 0;
  double largest_error = 0;
  // The mean over points that a fit to every other point had not seen, both halves in turn; NaN
  // below 8 points, whose halves would have too few.
  double held_out_error = 0;
  std::vector<Outlier> outliers = {};
  // What was fitted, ascending, a point a size; not in model.json, so empty for one that was read.
  std::vector<SizePoint> measured = {};
};

// Fits as few segments as the points ask for. Within a segment the sum of squared relative errors
// is least, with Huber's weights so that single points off the line do not move it; where segments
// begin is found by dynamic programming, how many there are by the Bayesian information criterion
// with a noise of its own for every segment, no less than 2 %. A segment begins where its line
// meets the one before, or half way between two points where times jump; it has three points or
// more. Points may come in any order; equal sizes are one point, their median. Throws
// std::invalid_argument, saying why, for values that are not finite, times that are not positive,
// negative sizes, fewer than three sizes, and times that do not grow with the size. Source:
// relative piecewise fits against held-out points, reference 3.2; Huber's k = 1.345.
PiecewiseFit FitPiecewise(std::span<const SizePoint> points);

}  // namespace hockney
