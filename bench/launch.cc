#include "bench/launch.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <string_view>
#include <thread>

#include "bench/options.h"
#include "bench/same_program.h"
#include "bench/signals.h"
#include "topology/check.h"
#include "topology/launcher.h"
#include "topology/machine.h"
#include "topology/network.h"
#include "topology/peer_links.h"
#include "topology/process_ranks.h"

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
  throw Agreed<EnvironmentError>(fmt::format("--expect-ranks: {} expected, but this run has {}",
                                             *options.expect_ranks, ranks));
}

void RequireNoLauncher(const char* option, int ranks, int launched) {
  if (launched <= 1) return;
  FailOption(
      option, std::to_string(ranks),
      fmt::format("no {} in one of {} launched processes: leave it out, or start one process",
                  option, launched));
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
          "--local-processes",
          [options](const std::string& text) {
            options->local_processes = ParseRanks("--local-processes", text, kMostLocalProcesses);
          },
          "Run N ranks as processes started by this one, without MPI")
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
  command
      .add_option("--iface", options->interfaces,
                  "Network interfaces between hosts, comma separated; for data UCX_NET_DEVICES "
                  "goes first. Default: all whose addresses are a host's own")
      ->type_name("NAMES");
}

Launch::Launch(int argc, char** argv, DeviceSource devices)
    : argc_(argc), argv_(argv), devices_(std::move(devices)), arguments_(argv, argv + argc) {}

int Launch::rank() const { return process_rank_.value_or(LauncherRank().value_or(0)); }

int Launch::RunRanks(const RankOptions& options, const std::function<int(Session&)>& body) {
  interfaces_ = options.interfaces;
  const InterruptGuard guard;
  // A reader that goes away must not end a rank without a word.
  std::signal(SIGPIPE, SIG_IGN);
  const int launched = LaunchedProcesses();
  if (options.local && options.local_processes) {
    FailOption("--local", std::to_string(*options.local), "either --local or --local-processes");
  }
  if (options.local) {
    RequireNoLauncher("--local", *options.local, launched);
    rank_source_ = "--local";
    return RunThreads(*options.local, options, body);
  }
  if (options.local_processes) {
    RequireNoLauncher("--local-processes", *options.local_processes, launched);
    rank_source_ = "--local-processes";
    return RunLocalProcesses(options, body);
  }
  if (UnderLauncher() || launched > 1) {
    rank_source_ = "launcher";
    return RunLaunched(options, body);
  }
  rank_source_ = "no launcher";
  const int ranks = options.on_devices ? DeviceRanks() : DefaultRanks();
  CheckExpected(options, ranks);
  fmt::print(stderr,
             "hockney: no launcher: running {} ranks as threads, one a {}; mpirun -n P hockney "
             "... or --local N choose otherwise\n",
             ranks, options.on_devices ? "GPU" : "core");
  return RunThreads(ranks, options, body);
}

int Launch::DeviceRanks() const {
  const CudaDevices devices = devices_.find();
  if (devices.count == 0) throw EnvironmentError(fmt::format("no GPU: {}", devices.reason));
  return devices.count;
}

int Launch::RunThreads(int ranks, const RankOptions& options,
                       const std::function<int(Session&)>& body) {
  CheckExpected(options, ranks);
  watchdog_ = std::make_unique<Watchdog>(Watchdog::Options{
      .timeout_seconds = options.timeout_seconds, .signal = InterruptGuard::Signal});
  std::vector<int> codes(ranks);
  try {
    RunThreadRanks(ranks, options.timeout_seconds,
                   [&](Session& session) { codes[session.rank()] = body(session); });
  } catch (const TimeoutError& error) {
    watchdog_->EndAfterTimeout(error.what());
  }
  watchdog_->Leave();
  const auto failed = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
  return failed == codes.end() ? 0 : *failed;
}

int Launch::RunLocalProcesses(const RankOptions& options,
                              const std::function<int(Session&)>& body) {
  CheckExpected(options, *options.local_processes);
  ProcessOutcome outcome;
  std::optional<Session> session;
  try {
    session = RunProcessRanks(*options.local_processes, options.timeout_seconds, &outcome);
  } catch (...) {
    process_rank_ = outcome.rank;
    throw;
  }
  if (session) {
    process_rank_ = outcome.rank;
    return RunRankProcess(*session, options, body);
  }
  // Survivors have said it already.
  if (outcome.all_lost) fmt::print(stderr, "hockney: {}\n", outcome.cause);
  return outcome.exit_code;
}

int Launch::RunLaunched(const RankOptions& options, const std::function<int(Session&)>& body) {
  mpi_started_ = true;
  Session session = StartLaunchedSession(options);
  process_rank_ = session.rank();
  const int launched = LaunchedProcesses();
  if (session.ranks() == 1 && launched > 1) {
    // Each believes to be rank 0. The first one speaks, and stays until the others have asked.
    process_rank_ = IsFirstOfSiblings() ? 0 : 1;
    if (process_rank_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    throw Agreed<EnvironmentError>(
        fmt::format("the launcher started {} processes, but MPI connects only 1: launcher and MPI "
                    "library do not fit together; use the mpirun of the MPI that hockney was built "
                    "with, or srun --mpi=pmix",
                    launched));
  }
  CheckExpected(options, session.ranks());
  return RunRankProcess(session, options, body);
}

// MPI's start has no deadline of its own and waits for every process that was launched.
Session Launch::StartLaunchedSession(const RankOptions& options) {
  Watchdog watchdog({.timeout_seconds = options.timeout_seconds, .rank = rank()});
  watchdog.Arm("the start of MPI: a process that was launched did not come");
  Session session = Session::StartMpi(&argc_, &argv_, options.timeout_seconds);
  watchdog.Disarm();
  return session;
}

int Launch::RunRankProcess(Session& session, const RankOptions& options,
                           const std::function<int(Session&)>& body) {
  RequireSameProgram(session, arguments_, "");
  WatchPeers(session, options);
  try {
    const int code = body(session);
    watchdog_->Leave();
    return code;
  } catch (...) {
    const Failure failure = CurrentFailure();
    if (failure.code == ExitCode::kTimeout) watchdog_->EndAfterTimeout(failure.text);
    watchdog_->Leave(failure.agreed ? 0 : ToInt(failure.code));
    throw;
  }
}

void Launch::WatchPeers(Session& session, const RankOptions& options) {
  Session local = session.SplitSharedMemory();
  Watchdog::Options watched{.timeout_seconds = options.timeout_seconds,
                            .rank = session.rank(),
                            .peers = ConnectHosts(session, local, options.interfaces),
                            .hosts = GatherHostNames(session),
                            .signal = InterruptGuard::Signal};
  watchdog_ = std::make_unique<Watchdog>(std::move(watched));
}

Failure Launch::Share(Failure failure) {
  failure.agreed = true;
  if (LaunchedProcesses() <= 1) return failure;
  constexpr double kSeconds = 10;  // the others may have ended by themselves
  try {
    mpi_started_ = true;
    Session session = Session::StartMpi(&argc_, &argv_, kSeconds);
    if (session.ranks() > 1) process_rank_ = session.rank();
    RequireSameProgram(session, arguments_, failure.text);
  } catch (...) {
    const Failure shared = CurrentFailure();
    if (shared.agreed) failure.text = shared.text;
  }
  return failure;
}

}  // namespace hockney
