#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/device/device_source.h"
#include "bench/failure.h"
#include "topology/session.h"
#include "topology/watchdog.h"

namespace CLI {
class App;
}

namespace hockney {

// What a user may say about the ranks of a run.
struct RankOptions {
  std::optional<int> local;            // rank threads in this process
  std::optional<int> local_processes;  // rank processes made by this one, without MPI
  double timeout_seconds = 60;
  std::optional<int> expect_ranks;
  std::string interfaces = {};  // comma separated; between hosts, for what is not measured
  bool on_devices = false;      // without a launcher one rank a device, not one a core
};

// Adds --local, --local-processes, --timeout (-T), --expect-ranks and --iface to `command`;
// `options` outlives the parse.
void AddRankOptions(CLI::App& command, RankOptions* options);

// Most ranks that --local and --local-processes take, and that are started without a launcher.
inline constexpr int kMostLocalRanks = 1024;
inline constexpr int kMostLocalProcesses = 256;
inline constexpr int kMostDefaultRanks = 8;

// How this process was started, and the ranks it gives to a sub-command.
class Launch {
 public:
  Launch(int argc, char** argv, DeviceSource devices = {});

  // The command line, program first.
  const std::vector<std::string>& arguments() const { return arguments_; }
  // Who chose the ranks: "launcher", "--local", "--local-processes" or "no launcher". Set by
  // RunRanks.
  const std::string& rank_source() const { return rank_source_; }
  // --iface, for further links between hosts. Set by RunRanks.
  const std::string& interfaces() const { return interfaces_; }
  // Where ranks get their devices.
  const DeviceSource& devices() const { return devices_; }
  // Rank of this process: once they are connected the session's, before it what the launcher says,
  // else 0.
  int rank() const;
  // Whether this process is one rank of several processes.
  bool is_rank_process() const { return process_rank_.has_value(); }
  // Whether MPI was started. It may then be still open (Session says when), so that only _exit ends
  // the process for certain.
  bool mpi_started() const { return mpi_started_; }
  // Watches over the ranks of this process while RunRanks runs a body.
  Watchdog& watchdog() const { return *watchdog_; }

  // Runs `body` on every rank of this process and returns the first result that is not 0, in rank
  // order. The ranks are --local threads or --local-processes; else the processes of the launcher;
  // else one thread a core, which is said on stderr. While they run, SIGINT and SIGTERM only set
  // InterruptGuard's signal, and a rank process that ends without a word ends the others with exit
  // code 4. Throws UsageError for --local in a rank of several and for ranks with unlike programs
  // or options, EnvironmentError if MPI connects fewer processes than were launched or
  // --expect-ranks is not met. Errors that `body` throws on every rank alike must be Agreed.
  int RunRanks(const RankOptions& options, const std::function<int(Session&)>& body);

  // Returns `failure`, of a command line that this rank cannot read, as the ranks of the launcher
  // agree on it: those with a good one hear of it in RunRanks.
  Failure Share(Failure failure);

 private:
  int DeviceRanks() const;
  int RunThreads(int ranks, const RankOptions& options, const std::function<int(Session&)>& body);
  int RunLocalProcesses(const RankOptions& options, const std::function<int(Session&)>& body);
  int RunLaunched(const RankOptions& options, const std::function<int(Session&)>& body);
  Session StartLaunchedSession(const RankOptions& options);
  int RunRankProcess(Session& session, const RankOptions& options,
                     const std::function<int(Session&)>& body);
  void WatchPeers(Session& session, const RankOptions& options);

  int argc_;
  char** argv_;
  DeviceSource devices_;
  std::vector<std::string> arguments_;
  std::string rank_source_;
  std::string interfaces_;
  std::optional<int> process_rank_;
  bool mpi_started_ = false;
  std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace hockney
