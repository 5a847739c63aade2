#include "tuner/fit/piecewise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::size_t kLeastPoints = 3;
constexpr std::size_t kLeastOfSegment = 3;
constexpr std::size_t kMostSegments = 8;
constexpr std::size_t kLeastHeldOut = 8;
constexpr int kIterations = 20;       // of the weights
constexpr double kHuber = 1.345;      // scales of the residuals, beyond which a point counts less
constexpr double kLeastScale = 1e-3;  // of relative errors: medians are not known better

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
    if (point.seconds <= 0) throw std::invalid_argument("a time that is not positive");
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
  // 0.6745: the median of |x| of a normal distribution of scale 1.
  const double scale = std::max(Median(sizes) / 0.6745, kLeastScale);
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
  double loss = std::numeric_limits<double>::infinity();  // with those before
  std::size_t before = 0;                                 // index among the choices of one less
};

// Where a segment begins: half way, in logarithms, between its first point and the one before.
double BeginOf(const Points& points, std::size_t first) {
  if (first == 0) return 0;
  const double before = points[first - 1].bytes;
  return before <= 0 ? points[first].bytes / 2 : std::sqrt(before * points[first].bytes);
}

bool MayFollow(const Points& points, const Choice& before, const Choice& after) {
  if (before.last + 1 != after.first) return false;
  const double at = BeginOf(points, after.first);
  return after.piece.alpha + after.piece.beta * at >= before.piece.alpha + before.piece.beta * at;
}

// The best cuts into 1, 2, ... segments; an empty one where there is none.
std::vector<std::vector<Choice>> CutBest(const Points& points) {
  std::vector<Choice> pieces;
  for (std::size_t first = 0; first < points.size(); ++first) {
    for (std::size_t last = first; last < points.size(); ++last) {
      const std::size_t count = last - first + 1;
      const bool whole = count == points.size();
      if (count < kLeastOfSegment && !whole) continue;
      Choice choice{.first = first, .last = last};
      choice.piece = FitPiece({points.data() + first, count}, first == 0);
      if (choice.piece.valid) pieces.push_back(choice);
    }
  }
  std::vector<std::vector<Choice>> layers;  // [segments - 1]: choices that end so many
  std::vector<std::vector<Choice>> best;
  for (std::size_t segments = 1; segments <= kMostSegments; ++segments) {
    std::vector<Choice> layer;
    for (Choice choice : pieces) {
      if (segments == 1) {
        if (choice.first != 0) continue;
        choice.loss = choice.piece.loss;
      } else {
        const std::vector<Choice>& earlier = layers.back();
        for (std::size_t i = 0; i < earlier.size(); ++i) {
          const double loss = earlier[i].loss + choice.piece.loss;
          if (loss >= choice.loss || !MayFollow(points, earlier[i], choice)) continue;
          choice.loss = loss;
          choice.before = i;
        }
      }
      if (std::isfinite(choice.loss)) layer.push_back(choice);
    }
    layers.push_back(std::move(layer));
    const Choice* end = nullptr;
    for (const Choice& choice : layers.back()) {
      if (choice.last + 1 == points.size() && (end == nullptr || choice.loss < end->loss)) {
        end = &choice;
      }
    }
    std::vector<Choice> cut;
    if (end != nullptr) {
      cut.push_back(*end);
      for (std::size_t layer_of = segments - 1; layer_of > 0; --layer_of) {
        cut.push_back(layers[layer_of - 1][cut.back().before]);
      }
      std::reverse(cut.begin(), cut.end());
    }
    best.push_back(std::move(cut));
  }
  return best;
}

// Bayesian information criterion: two numbers a segment, and where each but the first begins. As
// for Akaike's, numbers cost more where points are few; a segment may then have as few as three.
double InformationOf(std::span<const Choice> cut, std::size_t points) {
  const auto count = static_cast<double>(points);
  const double error = std::max(cut.back().loss / count, kLeastScale * kLeastScale);
  const auto parameters = static_cast<double>(3 * cut.size() - 1);
  const double free = count - parameters - 1;
  if (free <= 0) return std::numeric_limits<double>::infinity();
  return count * std::log(error) + parameters * std::log(count) * count / free;
}

PiecewiseLine FitLine(const Points& points) {
  const std::vector<std::vector<Choice>> cuts = CutBest(points);
  const std::vector<Choice>* best = nullptr;
  for (const std::vector<Choice>& cut : cuts) {
    if (cut.empty()) continue;
    const bool better =
        best == nullptr || InformationOf(cut, points.size()) < InformationOf(*best, points.size());
    if (better) best = &cut;
  }
  if (best == nullptr) throw std::invalid_argument("times do not grow with the size");
  std::vector<Segment> segments;
  for (const Choice& choice : *best) {
    segments.push_back({BeginOf(points, choice.first), choice.piece.alpha, choice.piece.beta});
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
  return fit;
}

}  // namespace hockney
