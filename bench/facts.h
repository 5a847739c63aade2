#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "topology/gather_json.h"  // IWYU pragma: export
#include "topology/machine.h"
#include "topology/pinning.h"
#include "topology/session.h"

namespace hockney {

// Where a rank runs.
struct RankPlace {
  std::shared_ptr<const Machine> machine;  // this host, read before pinning
  PinResult pin;
  bool oversubscribed = false;  // some ranks of this kernel share a CPU
  bool shared_kernel = false;   // several hosts run on it
  int local_rank = 0;
  int local_ranks = 1;
  int host = 0;  // number of this host, in the order of the hosts' first ranks
  int hosts = 1;
};

// Reads this host's facts, pins the calling rank and finds out how the ranks lie on hosts. Call it
// first: memory belongs where the thread that touches it runs. Collective; `local` is
// session.SplitSharedMemory().
RankPlace PlaceRank(Session& session, Session& local);

// What the caller knows and the machine does not.
struct RunContext {
  std::vector<std::string> command_line = {};
  std::chrono::system_clock::time_point start = std::chrono::system_clock::now();
  std::string rank_source = {};  // Launch::rank_source
  std::string mpi_library = {};  // empty: not known
};

// Returns the facts of a run for run.json: versions, command line, start, environment of rank 0,
// hosts, and every rank's place and limits. Unknown is null. Collective; every rank gets the same.
nlohmann::ordered_json CollectFacts(Session& session, const RankPlace& place,
                                    const RunContext& context);

// Whether the environment variable may go into run.json: settings of MPI, UCX, NCCL, OpenMP and
// Slurm's job and step numbers. Anything else may hold secrets.
bool IsRecordedVariable(std::string_view name);

// The time as in 2025-07-01T12:00:00Z.
std::string UtcText(std::chrono::system_clock::time_point time);

}  // namespace hockney
