#include "tuner/fit/piecewise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::size_t kLeastPoints = 3;
constexpr std::size_t kLeastOfSegment = 3;
constexpr std::size_t kLeastHeldOut = 8;
constexpr int kIterations = 20;       // of the weights
constexpr double kHuber = 1.345;      // scales of the residuals, beyond which a point counts less
constexpr double kLeastScale = 1e-3;  // of relative errors: medians are not known better
constexpr double kGoodEnough = 0.02;  // relative errors under it ask for no further segment
constexpr double kNormalMedian = 0.6745;  // of |x| for a normal distribution of scale 1
constexpr double kOutlierScales = 5;
constexpr double kOutlierShare = 0.3;

// One range of points [first, last] and the line that fits it.
struct Piece {
  double alpha = 0;
  double beta = 0;
  double loss = 0;  // sum of Huber's losses of the relative errors
  bool valid = false;
};

using Points = std::vector<SizePoint>;

// Points by ascending size, equal sizes as their median. Throws for what cannot be fitted.
Points Prepare(std::span<const SizePoint> given) {
  std::map<double, std::vector<double>> by_size;
  for (const SizePoint& point : given) {
    if (!std::isfinite(point.bytes) || !std::isfinite(point.seconds)) {
      throw std::invalid_argument("a size or time that is not a finite number");
    }
    if (point.bytes < 0) throw std::invalid_argument("a negative size");
    if (point.seconds <= 0) {
      throw std::invalid_argument(fmt::format("{} bytes take {} us, a time that is not positive",
                                              point.bytes, point.seconds * 1e6));
    }
    by_size[point.bytes].push_back(point.seconds);
  }
  if (by_size.size() < kLeastPoints) {
    throw std::invalid_argument(std::to_string(by_size.size()) + " sizes, expected at least " +
                                std::to_string(kLeastPoints));
  }
  Points points;
  points.reserve(by_size.size());
  for (const auto& [bytes, times] : by_size) points.push_back({bytes, Median(times)});
  return points;
}

// The line with the least sum of weights times squared relative errors, alpha and beta as they
// come.
Piece SolveWeighted(std::span<const SizePoint> points, std::span<const double> weights) {
  double s = 0, x = 0, xx = 0, y = 0, xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double w = weights[i] / (points[i].seconds * points[i].seconds);
    s += w;
    x += w * points[i].bytes;
    xx += w * points[i].bytes * points[i].bytes;
    y += w * points[i].seconds;
    xy += w * points[i].bytes * points[i].seconds;
  }
  const double determinant = s * xx - x * x;
  Piece piece;
  if (determinant <= 1e-12 * s * xx) return piece;
  piece.beta = (s * xy - x * y) / determinant;
  piece.alpha = (xx * y - x * xy) / determinant;
  piece.valid = piece.beta > 0;
  return piece;
}

// The same through the origin, for a first segment that would begin below zero.
Piece SolveThroughOrigin(std::span<const SizePoint> points, std::span<const double> weights) {
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double w = weights[i] / (points[i].seconds * points[i].seconds);
    xx += w * points[i].bytes * points[i].bytes;
    xy += w * points[i].bytes * points[i].seconds;
  }
  Piece piece;
  if (xx <= 0) return piece;
  piece.beta = xy / xx;
  piece.valid = piece.beta > 0;
  return piece;
}

double RelativeError(const Piece& piece, const SizePoint& point) {
  return (piece.alpha + piece.beta * point.bytes - point.seconds) / point.seconds;
}

// A first guess that half of the points may be wrong about: the median of the slopes between pairs
// and of what is left (Theil and Sen).
Piece MedianLine(std::span<const SizePoint> points) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      slopes.push_back((points[j].seconds - points[i].seconds) /
                       (points[j].bytes - points[i].bytes));
    }
  }
  Piece piece{.beta = Median(slopes), .valid = true};
  std::vector<double> rests;
  rests.reserve(points.size());
  for (const SizePoint& point : points) rests.push_back(point.seconds - piece.beta * point.bytes);
  piece.alpha = Median(rests);
  return piece;
}

std::vector<double> HuberWeights(const Piece& piece, std::span<const SizePoint> points) {
  std::vector<double> sizes;
  sizes.reserve(points.size());
  for (const SizePoint& point : points) sizes.push_back(std::abs(RelativeError(piece, point)));
  const double scale = std::max(Median(sizes) / kNormalMedian, kLeastScale);
  std::vector<double> weights;
  weights.reserve(points.size());
  for (const double size : sizes) {
    weights.push_back(size <= kHuber * scale ? 1 : kHuber * scale / size);
  }
  return weights;
}

// A segment's line. `first`: it begins at size 0, so its alpha is a time.
Piece FitPiece(std::span<const SizePoint> points, bool first) {
  Piece piece = MedianLine(points);
  for (int i = 0; i < kIterations; ++i) {
    const std::vector<double> weights = HuberWeights(piece, points);
    Piece next = SolveWeighted(points, weights);
    if (first && next.alpha < 0) next = SolveThroughOrigin(points, weights);
    if (!next.valid) return next;
    const bool still = std::abs(next.alpha - piece.alpha) <= 1e-9 * std::abs(next.alpha) &&
                       std::abs(next.beta - piece.beta) <= 1e-9 * next.beta;
    piece = next;
    if (still) break;
  }
  const std::vector<double> weights = HuberWeights(piece, points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double error = RelativeError(piece, points[i]);
    piece.loss += weights[i] * error * error;
  }
  // A line that is not positive over its own points says nothing.
  piece.valid = piece.valid && piece.alpha + piece.beta * points.front().bytes > 0;
  return piece;
}

// A segment of the points [first, last], as one of several.
struct Choice {
  std::size_t first = 0;
  std::size_t last = 0;
  Piece piece = {};
  double cost = std::numeric_limits<double>::infinity();  // with those before
  std::size_t before = 0;                                 // index of that before, if first > 0
};

// Where a segment begins, after its first point's predecessor: where both lines meet, if that is
// between the two points, since rates change without a jump; else half way, in logarithms, as where
// a protocol begins.
double BeginOf(const Points& points, const Choice& before, const Choice& after) {
  const double low = points[before.last].bytes;
  const double high = points[after.first].bytes;
  const double steeper = after.piece.beta - before.piece.beta;
  if (steeper > 0) {
    // Beyond the last bits of where they meet, so that times grow there.
    const double meet = (before.piece.alpha - after.piece.alpha) / steeper * (1 + 1e-9);
    if (meet > low && meet < high) return meet;
  }
  return low <= 0 ? high / 2 : std::sqrt(low * high);
}

bool MayFollow(const Points& points, const Choice& before, const Choice& after) {
  if (before.last + 1 != after.first) return false;
  const double at = BeginOf(points, before, after);
  return after.piece.alpha + after.piece.beta * at >= before.piece.alpha + before.piece.beta * at;
}

// Bayesian information criterion of one segment of `count` points among `all`: the points' noise is
// the segment's own, since large messages repeat better than small ones, and a segment is four
// numbers, its line, its noise, and where it begins.
double CostOf(const Piece& piece, std::size_t count, std::size_t all) {
  const auto points = static_cast<double>(count);
  const double variance = piece.loss / points + kGoodEnough * kGoodEnough;
  return points * std::log(variance) + 4 * std::log(static_cast<double>(all));
}

// All ranges of points with a line that may be a segment, by first and last point.
std::vector<Choice> FindChoices(const Points& points) {
  std::vector<Choice> choices;
  for (std::size_t first = 0; first < points.size(); ++first) {
    for (std::size_t last = first + kLeastOfSegment - 1; last < points.size(); ++last) {
      const std::size_t count = last - first + 1;
      Choice choice{.first = first, .last = last};
      choice.piece = FitPiece({points.data() + first, count}, first == 0);
      if (choice.piece.valid) choices.push_back(choice);
    }
  }
  return choices;
}

// The cheapest choices that follow each other from the first point to the last; none if there are
// no such.
std::vector<Choice> CutBest(const Points& points) {
  std::vector<Choice> choices = FindChoices(points);
  std::vector<std::vector<std::size_t>> ending(points.size());  // choices by their last point
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Choice& choice = choices[i];
    const double own = CostOf(choice.piece, choice.last - choice.first + 1, points.size());
    if (choice.first == 0) {
      choice.cost = own;
    } else {
      for (const std::size_t before : ending[choice.first - 1]) {
        const double cost = choices[before].cost + own;
        if (cost >= choice.cost || !MayFollow(points, choices[before], choice)) continue;
        choice.cost = cost;
        choice.before = before;
      }
    }
    if (std::isfinite(choice.cost)) ending[choice.last].push_back(i);
  }
  const std::vector<std::size_t>& ends = ending.back();
  const auto best = std::min_element(ends.begin(), ends.end(), [&](std::size_t a, std::size_t b) {
    return choices[a].cost < choices[b].cost;
  });
  std::vector<Choice> cut;
  if (best == ends.end()) return cut;
  for (std::size_t at = *best;; at = choices[at].before) {
    cut.push_back(choices[at]);
    if (choices[at].first == 0) break;
  }
  std::reverse(cut.begin(), cut.end());
  return cut;
}

PiecewiseLine FitLine(const Points& points) {
  const std::vector<Choice> cut = CutBest(points);
  if (cut.empty()) throw std::invalid_argument("times do not grow with the size");
  std::vector<Segment> segments;
  segments.reserve(cut.size());
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const double begin = i == 0 ? 0 : BeginOf(points, cut[i - 1], cut[i]);
    segments.push_back({begin, cut[i].piece.alpha, cut[i].piece.beta});
  }
  return PiecewiseLine(std::move(segments));
}

double ErrorAt(const PiecewiseLine& line, const SizePoint& point) {
  return std::abs(line.Seconds(point.bytes) - point.seconds) / point.seconds;
}

// Fits one half, tells the other, and the other way round. The ends are in both: nothing is told
// beyond what a fit has seen.
double HeldOutError(const Points& points) {
  if (points.size() < kLeastHeldOut) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> errors;
  for (const std::size_t parity : {0, 1}) {
    Points seen;
    Points held;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool is_end = i == 0 || i + 1 == points.size();
      if (is_end || i % 2 == parity) {
        seen.push_back(points[i]);
      } else {
        held.push_back(points[i]);
      }
    }
    const PiecewiseLine line = FitLine(seen);
    for (const SizePoint& point : held) errors.push_back(ErrorAt(line, point));
  }
  return Mean(errors);
}

// How many times farther than 1 one of the two times is from the other.
double Off(const PiecewiseLine& line, const SizePoint& point) {
  const double ratio = point.seconds / line.Seconds(point.bytes);
  return std::max(ratio, 1 / ratio) - 1;
}

std::vector<Outlier> FindOutliers(const PiecewiseLine& line, const Points& points) {
  std::vector<double> all;
  all.reserve(points.size());
  for (const SizePoint& point : points) all.push_back(Off(line, point));
  const double limit = std::max(kOutlierShare, kOutlierScales * Median(all) / kNormalMedian);
  std::vector<Outlier> outliers;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const SizePoint& point = points[i];
    if (all[i] <= limit) continue;
    outliers.push_back({point.bytes, point.seconds, line.Seconds(point.bytes)});
  }
  return outliers;
}

}  // namespace

PiecewiseLine::PiecewiseLine(std::vector<Segment> segments) : segments_(std::move(segments)) {
  if (segments_.empty() || segments_[0].begin_bytes != 0) {
    throw std::invalid_argument("segments: expected one that begins at 0");
  }
  if (segments_[0].alpha_seconds < 0) {
    throw std::invalid_argument("segments: the first alpha is negative");
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    if (!(segment.beta_seconds_per_byte > 0)) {
      throw std::invalid_argument("segments: a beta that is not positive");
    }
    if (i == 0) continue;
    const double at = segment.begin_bytes;
    if (at <= segments_[i - 1].begin_bytes || segment.Seconds(at) < segments_[i - 1].Seconds(at)) {
      throw std::invalid_argument("segments: one begins below where the one before ends");
    }
  }
}

double PiecewiseLine::Seconds(double bytes) const {
  const auto after = std::upper_bound(segments_.begin() + 1, segments_.end(), bytes,
                                      [](double n, const Segment& s) { return n < s.begin_bytes; });
  return std::prev(after)->Seconds(bytes);
}

PiecewiseFit FitPiecewise(std::span<const SizePoint> given) {
  const Points points = Prepare(given);
  PiecewiseFit fit{.line = FitLine(points), .points = points.size()};
  for (const SizePoint& point : points) {
    const double error = ErrorAt(fit.line, point);
    fit.mean_error += error / static_cast<double>(points.size());
    fit.largest_error = std::max(fit.largest_error, error);
  }
  fit.held_out_error = HeldOutError(points);
  fit.outliers = FindOutliers(fit.line, points);
  fit.measured = points;
  return fit;
}

}  // namespace hockney
