#include "bench/nccl_tests/command.h"

#include <fmt/core.h>

#include "bench/nccl_tests/environment.h"
#include "bench/nccl_tests/flags.h"
#include "bench/nccl_tests/names.h"
#include "bench/nccl_tests/options.h"
#include "bench/nccl_tests/reporter.h"
#include "bench/options.h"
#include "bench/sweep.h"
#include "collectives/algorithms.h"
#include "topology/launcher.h"

namespace hockney {
namespace {

void ChooseAlgorithm(const NcclTestsOptions& asked, Collective collective, SweepOptions& options) {
  if (asked.algorithm.empty()) return;
  std::vector<std::string_view> names;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective == collective) names.push_back(row.name);
  }
  options.algorithms = ParseAlgorithms("--algorithm", asked.algorithm, names);
}

SweepOptions MakeSweepOptions(const NcclTestsOptions& asked, Collective collective,
                              double timeout_seconds, std::string program) {
  SweepOptions options;
  options.collectives = {collective};
  options.sizes = asked.sizes;
  options.keeps_sizes = true;
  options.pairs_placements = true;
  options.cycles = asked.cycles;
  options.types = asked.types;
  options.ops = asked.ops;
  options.roots = {asked.root};
  if (HasInPlaceForm(collective)) {
    options.placements = {Placement::kApart, Placement::kInPlace};
  }
  ChooseAlgorithm(asked, collective, options);
  options.implementations = {asked.implementation};
  const bool isolated = asked.blocking == Blocking::kIterationBarrier;
  options.mode = isolated ? TimingMode::kIsolated : TimingMode::kStreamed;
  options.barrier_after_call = asked.blocking == Blocking::kCallBarrier;
  options.calls =
      static_cast<std::uint64_t>(asked.iterations) * static_cast<std::uint64_t>(asked.aggregated);
  options.warmups =
      static_cast<std::uint64_t>(asked.warmups) * static_cast<std::uint64_t>(asked.aggregated);
  options.times_calls = asked.per_iteration;
  options.chooses_one = asked.implementation == "hockney";
  options.unalign_elements = static_cast<std::size_t>(asked.unalign);
  options.checks = asked.checks;
  options.seed = asked.seed;
  options.timeout_seconds = timeout_seconds;
  options.out = asked.out;
  options.keeps_folder = !asked.out.empty();
  options.progress = "never";
  options.program = std::move(program);
  return options;
}

RankOptions MakeRankOptions(const NcclTestsOptions& asked) {
  RankOptions ranks;
  const int threads = RankThreads(asked);
  const bool launched = UnderLauncher();
  if (asked.local_processes) {
    if (threads > 1) {
      FailOption("--local-processes", std::to_string(*asked.local_processes),
                 "--nthreads (-t) and --ngpus (-g) of 1 beside it");
    }
    ranks.local_processes = asked.local_processes;
  } else if (threads > 1 || !launched) {
    if (launched && LauncherWorldSize().value_or(1) > 1) {
      FailOption("--nthreads (-t) times --ngpus (-g)", std::to_string(threads),
                 "1 in one of several processes");
    }
    ranks.local = threads;
  }
  if (asked.timeout_seconds > 0) ranks.timeout_seconds = asked.timeout_seconds;
  ranks.expect_ranks = asked.expect_ranks;
  return ranks;
}

}  // namespace

int RunNcclTests(Launch& launch, Collective collective) {
  const NcclTestsEnvironment environment = ReadNcclTestsEnvironment(ProcessEnvironment());
  const NcclTestsOptions asked = ParseNcclTestsOptions(collective, launch.arguments());
  const std::string program(BaseName(launch.arguments()[0]));
  if (asked.help) {
    if (launch.rank() == 0) fmt::print("{}", NcclTestsHelp(program));
    return ToInt(ExitCode::kOk);
  }
  const RankOptions ranks = MakeRankOptions(asked);
  SweepOptions options = MakeSweepOptions(asked, collective, ranks.timeout_seconds, program);
  options.split = environment.split;
  NcclTestsReporter reporter({.program = program, .collective = collective, .options = asked},
                             environment, launch.arguments(), TableTime::kOfRanks);
  return launch.RunRanks(
      ranks, [&](Session& session) { return RunSweep(session, options, launch, reporter); });
}

}  // namespace hockney
