// How long the verifier takes to prove a row of the table, three calls apart and in place.

#include <benchmark/benchmark.h>

#include <string>

#include "collectives/algorithms.h"
#include "collectives/flow.h"
#include "collectives/verify.h"

namespace hockney {
namespace {

constexpr std::uint64_t kCount = std::uint64_t{1} << 20;

void ProveRow(benchmark::State& state, const Algorithm& row) {
  const int ranks = static_cast<int>(state.range(0));
  const Shape shape{.collective = row.collective, .ranks = ranks, .root = 0};
  const Counts counts = EvenCounts(shape, kCount);
  const CallFlow flow = ChooseFlow(row, counts, DataType::kFloat32, {}, {});
  const Layout layout(counts, DataType::kFloat32, flow.cut);
  while (state.KeepRunning()) {
    const Verdict verdict = VerifyAlgorithm(row, layout, flow.parameters, flow.flow);
    if (verdict.fault) state.SkipWithError(verdict.fault->text.c_str());
  }
}

void Register() {
  for (const Algorithm& row : AllAlgorithms()) {
    const std::string name = std::string(Name(row.collective)) + "/" + std::string(row.name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&row](benchmark::State& state) { ProveRow(state, row); })
        ->Unit(benchmark::kMillisecond)
        ->RangeMultiplier(2)
        ->Range(2, 16);
  }
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  hockney::Register();
  benchmark::RunSpecifiedBenchmarks();
}
