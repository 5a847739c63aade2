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

// One rank's handle on all ranks of a run: who am I, and small control messages between ranks. Not
// for measured data. Every call that starts with a capital is collective: all ranks call it in the
// same order. Calls block, poll and yield, and throw TimeoutError naming the call when
// `timeout_seconds` passes without the others arriving; after that every further call throws. A
// message is at most 2 GiB - 1 (all ranks' together in AllGather), else std::invalid_argument on
// every rank. A Session is used by one thread only.
class Session {
 public:
  // Starts MPI (MPI_Init_thread) and returns the session over MPI_COMM_WORLD; MPI is finalized with
  // the last copy, unless a call timed out, an exception is passing or the other ranks do not come
  // within the timeout: MPI_Finalize could then hang, and the program ends with _exit. Throws
  // BackendError if MPI fails.
  static Session StartMpi(int* argc, char*** argv, double timeout_seconds);

  int rank() const;
  int ranks() const;
  RankKind kind() const;
  double timeout_seconds() const;
  // Whether another rank thread ended with an exception, so that waiting for it is vain. Any thread
  // may ask, at any time. False between processes: the Watchdog sees those end.
  bool peer_failed() const;

  void Barrier();
  // Copies root's bytes into every rank's `bytes`; all ranks pass the same length.
  void Broadcast(std::span<std::byte> bytes, int root);
  // Returns every rank's bytes in rank order, on every rank; lengths may differ.
  std::vector<std::vector<std::byte>> AllGather(std::span<const std::byte> mine);
  // Returns every rank's pointer in rank order, on every rank, so that threads can share an object
  // whose lifetime then needs no further agreement. Throws std::logic_error between processes.
  std::vector<std::shared_ptr<const void>> AllGatherShared(std::shared_ptr<const void> mine);
  // Returns the session of the ranks that passed the same color (>= 0), ranked by (key, old rank).
  Session Split(int color, int key);
  // Returns the session of the ranks that share this host's memory, as MPI says (threads: all
  // ranks).
  Session SplitSharedMemory();

  // The MPI communicator as an opaque pointer to MPI_Comm for collectives/baselines/mpi; null for
  // threads.
  const void* mpi_communicator() const;

  class Group;  // one implementation a RankKind; defined in session_group.h, for topology/ only
  explicit Session(std::shared_ptr<Group> group);

 private:
  std::shared_ptr<Group> group_;
};

// Runs `body(session)` on `ranks` threads (>= 1), one rank each, and returns when all ended. If
// bodies throw, the others are released from their waits (they throw TimeoutError) and the
// exception of the rank that threw first is rethrown here.
void RunThreadRanks(int ranks, double timeout_seconds, const std::function<void(Session&)>& body);

}  // namespace hockney
