#include <benchmark/benchmark.h>

#include <string>

#include "tuner/bandwidth.h"
#include "tuner/simulate/simulate.h"

// How many slices of messages the simulator handles a second, on one core.
namespace hockney {
namespace {

SimRequest RequestOf(const char* algorithm, int ranks, std::uint64_t size) {
  SimRequest request;
  request.row = FindAlgorithm(Collective::kAllReduce, algorithm);
  const std::uint64_t count = CountForSize(Collective::kAllReduce, size, DataType::kFloat32, ranks);
  request.counts = EvenCounts({Collective::kAllReduce, ranks, 0}, count);
  return request;
}

// Every rank by itself, nothing left out.
constexpr SimOptions kEverything = {.collapse = false, .extrapolate = false};

void Report(benchmark::State& state, const Simulation& simulation) {
  double slices = 0;
  double solves = 0;
  while (state.KeepRunning()) {
    const SimResult result = simulation.Run();
    slices += static_cast<double>(result.slices);
    solves += static_cast<double>(result.solves);
    benchmark::DoNotOptimize(result.seconds);
  }
  state.counters["slices"] = benchmark::Counter(slices, benchmark::Counter::kIsRate);
  state.counters["solves"] = benchmark::Counter(solves, benchmark::Counter::kIsRate);
}

// A ring of ranks with links of their own: no two messages share anything.
void Uncontended(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  SimMachine machine;
  machine.placement = OneNode(ranks);
  machine.node.alpha_seconds = 1e-6;
  machine.rank_port_bytes_per_second = 1e10;
  const Simulation simulation(RequestOf("ring", ranks, std::uint64_t{1} << 22), machine,
                              kEverything);
  Report(state, simulation);
}

// Two racks whose uplinks all messages between them share: every start and end of a message solves
// the shares anew.
void Contended(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  SimMachine machine;
  machine.placement.node_of_rank.resize(ranks);
  machine.placement.rack_of_node.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    machine.placement.node_of_rank[rank] = rank;
    machine.placement.rack_of_node[rank] = rank % 2;
  }
  machine.rack = {.name = "rack", .alpha_seconds = 1e-6, .bytes_per_second = 1e10};
  machine.fabric = machine.rack;
  machine.node_transmit = machine.node_receive = {.bytes_per_second = 1e10};
  machine.rack_up = machine.rack_down = {.bytes_per_second = 1e10};
  const Simulation simulation(RequestOf("double_binary_tree", ranks, std::uint64_t{1} << 22),
                              machine, kEverything);
  Report(state, simulation);
}

BENCHMARK(Uncontended)->Name("ring/uncontended")->Arg(8)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(Contended)->Name("tree/contended")->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
