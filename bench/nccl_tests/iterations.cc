#include "bench/nccl_tests/iterations.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace hockney {
namespace {

// Nearest rank in whole numbers; a product with 0.99 could round up to the next rank.
double Percentile(const std::vector<double>& sorted, std::size_t percent) {
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

}  // namespace

IterationStats SummarizeIterations(const IterationTimes& times) {
  if (times.skipped < 0 || static_cast<std::size_t>(times.skipped) >= times.times_us.size()) {
    throw std::invalid_argument("no iteration is left to summarize");
  }
  std::vector<double> sorted(times.times_us.begin() + times.skipped, times.times_us.end());
  std::sort(sorted.begin(), sorted.end());
  const auto samples = static_cast<double>(sorted.size());
  const double average = std::accumulate(sorted.begin(), sorted.end(), 0.0) / samples;
  double squares = 0;
  for (const double sample : sorted) squares += (sample - average) * (sample - average);
  const double stdev = std::sqrt(squares / samples);
  return {
      .min_us = sorted.front(),
      .max_us = sorted.back(),
      .avg_us = average,
      .p50_us = sorted[sorted.size() / 2],
      .p95_us = Percentile(sorted, 95),
      .p99_us = Percentile(sorted, 99),
      .stdev_us = stdev,
      .cv_percent = average > 0 ? 100 * stdev / average : 0,
  };
}

}  // namespace hockney
