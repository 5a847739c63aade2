#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "topology/session.h"

namespace CLI {
class App;
}

namespace hockney {

// What a user may say about the ranks of a run.
struct RankOptions {
  std::optional<int> local;  // rank threads in this process
  double timeout_seconds = 60;
  std::optional<int> expect_ranks;
};

// Adds --local, --timeout (-T) and --expect-ranks to `command`; `options` outlives the parse.
void AddRankOptions(CLI::App& command, RankOptions* options);

// Most rank threads that --local takes, and that are started without a launcher.
inline constexpr int kMostLocalRanks = 1024;
inline constexpr int kMostDefaultRanks = 8;

// How this process was started, and the ranks it gives to a sub-command.
class Launch {
 public:
  Launch(int argc, char** argv);

  // The command line, program first.
  const std::vector<std::string>& arguments() const { return arguments_; }
  // Who chose the ranks: "launcher", "--local" or "no launcher". Set by RunRanks.
  const std::string& rank_source() const { return rank_source_; }
  // Rank of this process: MPI's once that has started, before it what the launcher says, else 0.
  int rank() const;
  // Whether MPI was started. It may then be still open (Session says when), so that only _exit ends
  // the process for certain.
  bool mpi_started() const { return mpi_started_; }

  // Runs `body` on every rank of this process and returns the first result that is not 0, in rank
  // order. The ranks are --local threads; else the processes of the launcher; else one thread a
  // core, which is said on stderr. Throws UsageError for --local in a rank of several and, on every
  // rank alike, EnvironmentError if MPI connects fewer processes than were launched or
  // --expect-ranks is not met. What `body` throws as UsageError, InputError, std::invalid_argument
  // or EnvironmentError is thrown on every rank alike (RunOnAllOrThrow sees to that), because only
  // rank 0 prints these.
  int RunRanks(const RankOptions& options, const std::function<int(Session&)>& body);

 private:
  int RunThreads(int ranks, const RankOptions& options, const std::function<int(Session&)>& body);
  int RunProcesses(const RankOptions& options, const std::function<int(Session&)>& body);

  int argc_;
  char** argv_;
  std::vector<std::string> arguments_;
  std::string rank_source_;
  std::optional<int> mpi_rank_;
  bool mpi_started_ = false;
};

}  // namespace hockney
