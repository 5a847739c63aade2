// How long a piecewise fit takes, by the number of sizes and of lines that made them.

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "tuner/fit/piecewise.h"

namespace hockney {
namespace {

// Sizes from 8 bytes to 64 MiB, evenly in logarithms, on as many lines, with noise of 2 %.
std::vector<SizePoint> MakePoints(int count, int lines) {
  constexpr double kDecades = 23;  // powers of two
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1, 0.02);
  std::vector<SizePoint> points;
  points.reserve(count);
  for (int i = 0; i < count; ++i) {
    const double bytes = std::floor(8 * std::exp2(kDecades * i / (count - 1)));
    const double line = std::floor(static_cast<double>(lines) * i / count);  // the later the slower
    const double seconds = 1e-6 * std::exp2(line) + bytes * 1e-10 * (1 + line);
    points.push_back({bytes, seconds * noise(random)});
  }
  return points;
}

void FitLines(benchmark::State& state) {
  const auto points =
      MakePoints(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  std::size_t segments = 0;
  while (state.KeepRunning()) {
    const PiecewiseFit fit = FitPiecewise(points);
    segments = fit.line.segments().size();
    benchmark::DoNotOptimize(fit.held_out_error);
  }
  state.counters["segments"] = static_cast<double>(segments);
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RegisterBenchmark("fit_piecewise", hockney::FitLines)
      ->ArgNames({"sizes", "lines"})
      ->ArgsProduct({{12, 24, 48, 96}, {1, 4}})
      ->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
}
