#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hockney {

// How the ranks of a session exist.
enum class RankKind { kProcesses, kThreads };

// One rank's handle on all ranks of a run: who am I, and small control messages between ranks. Not for measured data.
// Every call below but rank(), ranks() and kind() is collective: all ranks call it in the same order. Calls block,
// poll and yield, and throw TimeoutError naming the call when `timeout_seconds` passes without the others arriving.
// A Session is used by one thread only.
class Session {
 public:
  // Starts MPI (MPI_Init_thread) and returns the session over MPI_COMM_WORLD; MPI is finalized with the last copy.
  // Throws BackendError if MPI fails.
  static Session StartMpi(int* argc, char*** argv, double timeout_seconds);

  int rank() const;
  int ranks() const;
  RankKind kind() const;
  double timeout_seconds() const;

  void Barrier();
  // Copies root's bytes into every rank's `bytes`; all ranks pass the same length.
  void Broadcast(std::span<std::byte> bytes, int root);
  // Returns every rank's bytes in rank order, on every rank; lengths may differ.
  std::vector<std::vector<std::byte>> AllGather(std::span<const std::byte> mine);
  // Returns the sessions of the ranks that passed the same color, ranked by (key, old rank).
  Session Split(int color, int key);
  // Returns the session of the ranks that share this host's memory, as MPI says (threads: all ranks).
  Session SplitSharedMemory();

  // The MPI communicator as an opaque pointer to MPI_Comm for collectives/baselines/mpi; null for threads.
  const void* mpi_communicator() const;

  class Group;  // defined in session.cc and thread_session.cc only
  explicit Session(std::shared_ptr<Group> group);

 private:
  std::shared_ptr<Group> group_;
};

// Runs `body(session)` on `ranks` threads, one rank each, and returns when all ended. If bodies throw, the others are
// released from their waits (they throw TimeoutError) and the exception of the rank that threw first is rethrown here.
void RunThreadRanks(int ranks, double timeout_seconds, const std::function<void(Session&)>& body);

}  // namespace hockney
