#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "topology/file_descriptor.h"
#include "topology/session.h"

namespace hockney {

// How the ranks of RunProcessRanks ended.
struct ProcessOutcome {
  std::optional<int> rank = {};  // of the calling process, if it is one of them
  int exit_code = 0;             // 0, else that of the first rank that failed by itself, else 4
  std::string cause;      // not empty if a signal ended a rank: "rank 3 (pid 7) was ended by ..."
  bool all_lost = false;  // no rank was left to say what happened
};

// Starts `ranks` (>= 1) processes as ranks of one session, without MPI and without a launcher, and
// watches over them until all have ended; SIGINT and SIGTERM sent to the caller go on to them.
//
// Returns the session in each new process, which goes on from here, and nothing in the caller once
// they ended (`outcome` then says how). If one fails, the others have two seconds to end, which
// their watchdogs need less of; those left then, stopped ones for example, are killed. Call it
// before any other thread exists. Throws EnvironmentError if a process cannot be made or may not
// open enough files; in a new process, as ConnectPeers does.
std::optional<Session> RunProcessRanks(int ranks, double timeout_seconds, ProcessOutcome* outcome);

// The session of a process that has a stream socket to rank 0 (rank 0: to each other rank, in rank
// order) in `star`. Collective.
Session MakeProcessSession(std::vector<FileDescriptor> star, int rank, double timeout_seconds);

}  // namespace hockney
