#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "topology/session.h"

namespace hockney {

// What stands behind a Session; the calls mean what session.h says. Arguments are checked by
// Session.
class Session::Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  virtual RankKind kind() const = 0;
  virtual double timeout_seconds() const = 0;
  virtual const void* mpi_communicator() const = 0;
  virtual bool peer_failed() const { return false; }

  virtual void Barrier() = 0;
  virtual void Broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual std::vector<std::vector<std::byte>> AllGather(std::span<const std::byte> mine) = 0;
  virtual std::vector<std::shared_ptr<const void>> AllGatherShared(
      std::shared_ptr<const void> mine) = 0;
  virtual std::shared_ptr<Group> Split(int color, int key) = 0;
  virtual std::shared_ptr<Group> SplitSharedMemory() = 0;

  // The largest message, because MPI counts bytes with an int; the same for threads, so that what
  // works there works between processes.
  static constexpr std::size_t kMaxBytes = 0x7fffffff;
};

// What a rank passes to Split.
struct SplitChoice {
  int color = 0;
  int key = 0;
};

// Returns the old ranks of those that chose `color`, in their new order; all[r] = choice of rank r.
std::vector<int> FindPart(std::span<const SplitChoice> all, int color);

}  // namespace hockney
