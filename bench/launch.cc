#include "bench/launch.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <string_view>

#include "bench/options.h"
#include "topology/check.h"
#include "topology/launcher.h"
#include "topology/machine.h"

namespace hockney {
namespace {

int ParseRanks(std::string_view option, const std::string& text, int most) {
  const std::uint64_t ranks = ParseCount(option, text, 1);
  if (ranks > static_cast<std::uint64_t>(most)) {
    FailOption(option, text, fmt::format("a whole number from 1 to {}", most));
  }
  return static_cast<int>(ranks);
}

// Returns how many processes the launcher started at least; 1 without one. A process that is told
// its rank but no number (srun's step variables can be missing) is not alone unless it is rank 0.
int LaunchedProcesses() {
  return std::max(LauncherWorldSize().value_or(1), LauncherRank().value_or(0) + 1);
}

void CheckExpected(const RankOptions& options, int ranks) {
  if (!options.expect_ranks || *options.expect_ranks == ranks) return;
  throw EnvironmentError(fmt::format("--expect-ranks: {} expected, but this run has {}",
                                     *options.expect_ranks, ranks));
}

int DefaultRanks() { return std::min(ReadMachine().cores_allowed.value_or(1), kMostDefaultRanks); }

}  // namespace

void AddRankOptions(CLI::App& command, RankOptions* options) {
  command
      .add_option_function<std::string>(
          "--local",
          [options](const std::string& text) {
            options->local = ParseRanks("--local", text, kMostLocalRanks);
          },
          "Run N ranks as threads of this process. Default: the launcher's processes, or without "
          "one a thread a core, at most 8")
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "-T,--timeout",
          [options](const std::string& text) {
            options->timeout_seconds = ParseDuration("--timeout (-T)", text, BareNumber::kSeconds);
          },
          "Longest wait of a rank for another before the run ends with exit code 4")
      ->type_name("SECONDS")
      ->default_str(fmt::format("{}", options->timeout_seconds));
  command
      .add_option_function<std::string>(
          "--expect-ranks",
          [options](const std::string& text) {
            options->expect_ranks =
                ParseRanks("--expect-ranks", text, std::numeric_limits<int>::max());
          },
          "End with exit code 3 unless the run has N ranks. Default: not checked")
      ->type_name("N");
}

Launch::Launch(int argc, char** argv) : argc_(argc), argv_(argv), arguments_(argv, argv + argc) {}

int Launch::rank() const { return mpi_rank_.value_or(LauncherRank().value_or(0)); }

int Launch::RunRanks(const RankOptions& options, const std::function<int(Session&)>& body) {
  const int launched = LaunchedProcesses();
  if (options.local) {
    if (launched > 1) {
      FailOption("--local", std::to_string(*options.local),
                 fmt::format("no --local in one of {} launched processes: leave it out, or start "
                             "one process",
                             launched));
    }
    rank_source_ = "--local";
    return RunThreads(*options.local, options, body);
  }
  if (UnderLauncher() || launched > 1) {
    rank_source_ = "launcher";
    return RunProcesses(options, body);
  }
  rank_source_ = "no launcher";
  const int ranks = DefaultRanks();
  CheckExpected(options, ranks);
  fmt::print(stderr,
             "hockney: no launcher: running {} ranks as threads, one a core; mpirun -n P hockney "
             "... or --local N choose otherwise\n",
             ranks);
  return RunThreads(ranks, options, body);
}

int Launch::RunThreads(int ranks, const RankOptions& options,
                       const std::function<int(Session&)>& body) {
  CheckExpected(options, ranks);
  std::vector<int> codes(ranks);
  RunThreadRanks(ranks, options.timeout_seconds,
                 [&](Session& session) { codes[session.rank()] = body(session); });
  const auto failed = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
  return failed == codes.end() ? 0 : *failed;
}

int Launch::RunProcesses(const RankOptions& options, const std::function<int(Session&)>& body) {
  mpi_started_ = true;
  Session session = Session::StartMpi(&argc_, &argv_, options.timeout_seconds);
  mpi_rank_ = session.rank();
  const int launched = LaunchedProcesses();
  if (session.ranks() == 1 && launched > 1) {
    throw EnvironmentError(
        fmt::format("the launcher started {} processes, but MPI connects only 1: launcher and MPI "
                    "library do not fit together; use the mpirun of the MPI that hockney was built "
                    "with, or srun --mpi=pmix",
                    launched));
  }
  CheckExpected(options, session.ranks());
  return body(session);
}

}  // namespace hockney
