#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hockney {

// Statistics of repeated measurements. Samples carry any one unit (seconds, microseconds, ...);
// results carry the same. Every function throws std::invalid_argument for an empty span and for a
// sample that is not finite, naming its index. One sample is its own median, quantile and interval.
// Nothing is dropped as an outlier.

// Middle of the sorted samples; the mean of the two middle ones for an even number.
double Median(std::span<const double> samples);

// Nearest rank: the smallest sample with at least `q` of all samples at or below it, so always a
// measured value. With fewer than 1/(1-q) samples (20 for p95, 100 for p99) it is the largest one.
// Throws std::invalid_argument unless 0 <= q <= 1; q = 0 is the smallest sample.
double Quantile(std::span<const double> samples, double q);

double Mean(std::span<const double> samples);
double Min(std::span<const double> samples);

// An interval around an estimate. `confident` is false where the number of samples cannot give 95
// %.
struct Interval {
  double low = 0;
  double high = 0;
  bool confident = false;
};

// Number of samples below which MedianInterval takes its ranks from the exact binomial
// distribution.
inline constexpr std::size_t kExactIntervalLimit = 30;

// 95 % interval of the median from order statistics; assumes independent samples, but no
// distribution. From kExactIntervalLimit samples on, ranks floor((N - z sqrt N)/2) and ceil(1 + (N
// + z sqrt N)/2) with z = 1.96; below it the narrowest symmetric ranks whose exact binomial
// coverage reaches 95 %. Fewer than 6 samples cannot reach it: minimum and maximum are returned and
// `confident` is false. Source: "Scientific Benchmarking of Parallel Computing Systems", SC'15.
Interval MedianInterval(std::span<const double> samples);

// What a row of results says about its samples.
struct Summary {
  std::size_t samples = 0;
  double median = 0;
  double ci_low = 0;  // MedianInterval
  double ci_high = 0;
  bool ci_confident = false;
  double min = 0;
  double mean = 0;
  double p95 = 0;  // nearest rank
  double p99 = 0;
};
Summary Summarize(std::span<const double> samples);

// Samples of two competitors taken in one launch; spans must outlive the call they are passed to.
struct LaunchSamples {
  std::span<const double> a;
  std::span<const double> b;
};

// How much slower a is than b: the median over launches of median(a) / median(b).
struct Ratio {
  double value = 0;
  Interval interval;
};

// Returns that ratio and its 95 % percentile-bootstrap interval: launches (the unit of
// independence) are drawn with replacement, `resamples` times, from a fixed seed, so equal input
// gives equal output on every machine. `confident` is false below 5 launches. Throws
// std::invalid_argument without launches or where a median of b is 0.
Ratio RatioOfMedians(std::span<const LaunchSamples> launches, std::size_t resamples = 10'000,
                     std::uint64_t seed = 1);

// Why a row stopped, or that it goes on.
enum class StopReason : std::uint8_t { kContinue, kConverged, kBudget };

// Ends a row when the median is known well enough or the time is used up.
struct StoppingRule {
  std::size_t min_samples = 30;
  double relative_half_width = 0.02;  // of the median
  double clock_tick = 0;  // unit of the samples; two ticks are the finest half-width asked for
  double budget_seconds = 0.5;  // time for the row, warm-up included

  // Looks at all samples of the row so far (may be none); sorts a copy, so call it after batches,
  // not in the timed part.
  StopReason Check(std::span<const double> samples, double elapsed_seconds) const;
};

// Ends the warm-up when the running median stands still.
struct WarmUpRule {
  std::size_t min_samples = 10;  // a given warm-up count replaces it
  std::size_t window = 10;
  double tolerance = 0.05;  // the last window's median against that of the window before
  double clock_tick = 0;    // unit of the samples; a difference of one tick is always accepted

  // True once both windows are full, `min_samples` were taken, and their medians agree.
  bool Settled(std::span<const double> samples) const;
};

}  // namespace hockney
