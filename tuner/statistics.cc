#include "tuner/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace hockney {
namespace {

constexpr double kZ95 = 1.959963984540054;     // two-sided 95 % point of the normal distribution
constexpr std::size_t kFewestForInterval = 6;  // 1 - 2 * 0.5^5 = 93.75 % < 95 % <= 1 - 2 * 0.5^6
constexpr std::size_t kFewestLaunches = 5;     // design: claims rest on at least 5 launches

void RequireFinite(std::span<const double> samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!std::isfinite(samples[i])) {
      throw std::invalid_argument("sample " + std::to_string(i) + " of " +
                                  std::to_string(samples.size()) +
                                  " is not finite: " + std::to_string(samples[i]));
    }
  }
}

std::vector<double> Sorted(std::span<const double> samples) {
  RequireFinite(samples);
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double SortedMedian(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2;
}

double SortedQuantile(std::span<const double> sorted, double q) {
  if (!(q >= 0 && q <= 1)) {
    throw std::invalid_argument("quantile outside 0..1: " + std::to_string(q));
  }
  // 0.95 * 20 is a hair above 19 in binary; the slack keeps the rank that decimal arithmetic gives.
  const double rank = std::ceil(q * static_cast<double>(sorted.size()) - 1e-9);
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

// Largest 1-based rank k with P(X < k) <= 2.5 % for X ~ binomial(n, 1/2): x(k)..x(n+1-k) covers the
// median with 95 %. Needs n >= kFewestForInterval, so that k >= 1.
std::size_t ExactRank(std::size_t n) {
  double term = std::pow(0.5, static_cast<double>(n));  // P(X = 0)
  double below = term;
  std::size_t k = 0;
  while (below <= 0.025) {
    ++k;
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    below += term;
  }
  return k;
}

Interval SortedMedianInterval(std::span<const double> sorted) {
  const std::size_t n = sorted.size();
  if (n < kFewestForInterval) return {sorted.front(), sorted.back(), false};
  if (n < kExactIntervalLimit) {
    const std::size_t k = ExactRank(n);
    return {sorted[k - 1], sorted[n - k], true};
  }
  const double count = static_cast<double>(n);
  const double spread = kZ95 * std::sqrt(count);
  const double low = std::max(std::floor((count - spread) / 2), 1.0);
  const double high = std::min(std::ceil(1 + (count + spread) / 2), count);
  return {sorted[static_cast<std::size_t>(low) - 1], sorted[static_cast<std::size_t>(high) - 1],
          true};
}

std::vector<double> LaunchRatios(std::span<const LaunchSamples> launches) {
  std::vector<double> ratios;
  for (const LaunchSamples& launch : launches) {
    const double base = Median(launch.b);
    if (base == 0) {
      throw std::invalid_argument("launch " + std::to_string(ratios.size()) +
                                  ": the median to divide by is 0");
    }
    ratios.push_back(Median(launch.a) / base);
  }
  return ratios;
}

}  // namespace

double Median(std::span<const double> samples) { return SortedMedian(Sorted(samples)); }

double Quantile(std::span<const double> samples, double q) {
  return SortedQuantile(Sorted(samples), q);
}

double Mean(std::span<const double> samples) {
  RequireFinite(samples);
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

double Min(std::span<const double> samples) {
  RequireFinite(samples);
  return *std::min_element(samples.begin(), samples.end());
}

Interval MedianInterval(std::span<const double> samples) {
  return SortedMedianInterval(Sorted(samples));
}

Summary Summarize(std::span<const double> samples) {
  const std::vector<double> sorted = Sorted(samples);
  const Interval interval = SortedMedianInterval(sorted);
  return {.samples = sorted.size(),
          .median = SortedMedian(sorted),
          .ci_low = interval.low,
          .ci_high = interval.high,
          .ci_confident = interval.confident,
          .min = sorted.front(),
          .mean = Mean(samples),
          .p95 = SortedQuantile(sorted, 0.95),
          .p99 = SortedQuantile(sorted, 0.99)};
}

Ratio RatioOfMedians(std::span<const LaunchSamples> launches, std::size_t resamples,
                     std::uint64_t seed) {
  if (resamples == 0) throw std::invalid_argument("bootstrap with 0 resamples");
  const std::vector<double> ratios = LaunchRatios(launches);
  const double value = Median(ratios);
  // The engine's sequence is fixed by the standard, that of std::uniform_int_distribution is not;
  // the remainder's bias is below 1e-15 for any number of launches.
  std::mt19937_64 engine(seed);
  std::vector<double> medians(resamples);
  std::vector<double> drawn(ratios.size());
  for (double& median : medians) {
    for (double& ratio : drawn) ratio = ratios[engine() % ratios.size()];
    std::sort(drawn.begin(), drawn.end());
    median = SortedMedian(drawn);
  }
  std::sort(medians.begin(), medians.end());
  return {value,
          {SortedQuantile(medians, 0.025), SortedQuantile(medians, 0.975),
           ratios.size() >= kFewestLaunches}};
}

StopReason StoppingRule::Check(std::span<const double> samples, double elapsed_seconds) const {
  if (!samples.empty() && samples.size() >= min_samples) {
    const std::vector<double> sorted = Sorted(samples);
    const Interval interval = SortedMedianInterval(sorted);
    const double wanted =
        std::max(relative_half_width * std::abs(SortedMedian(sorted)), 2 * clock_tick);
    if ((interval.high - interval.low) / 2 <= wanted) return StopReason::kConverged;
  }
  return elapsed_seconds >= budget_seconds ? StopReason::kBudget : StopReason::kContinue;
}

bool WarmUpRule::Settled(std::span<const double> samples) const {
  if (window == 0) throw std::invalid_argument("warm-up window of 0 samples");
  if (samples.size() < std::max(min_samples, 2 * window)) return false;
  const double last = Median(samples.last(window));
  const double before = Median(samples.last(2 * window).first(window));
  return std::abs(last - before) <= std::max(tolerance * std::abs(before), clock_tick);
}

}  // namespace hockney
