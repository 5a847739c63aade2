#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace hockney {

class Session;
class SharedMapping;

// Memory of all ranks of one host as one rank sees it: a segment a rank, which all may read and
// write. Anonymous, so a killed run leaves nothing behind. Between threads all ranks see the same
// addresses. A segment lives until the last rank that maps it lets go.
class HostMemory {
 public:
  // Returns the memory of the ranks of `session`, all of one host. Each rank gives `bytes` (they
  // may differ, 0 is allowed); segments are zeroed, begin on 2 MiB boundaries and are touched first
  // by the calling thread, so pin it before. Collective. Throws on every rank alike:
  // EnvironmentError naming bytes needed, bytes available and the limit if memory is short,
  // BackendError if the system refuses a call; and TimeoutError.
  static std::shared_ptr<HostMemory> Create(Session& session, std::size_t bytes);

  // Returns rank's segment as mapped here. Throws std::out_of_range if there is no such rank.
  std::span<std::byte> Segment(int rank) const { return segments_.at(rank); }
  // Returns the KiB of the pages behind rank's segment, measured by its owner after the first
  // touch.
  double page_kib(int rank) const { return page_kib_.at(rank); }

 private:
  HostMemory() = default;

  std::vector<std::span<std::byte>> segments_;
  std::vector<double> page_kib_;
  std::vector<std::shared_ptr<const SharedMapping>> mappings_;
};

}  // namespace hockney
