#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "collectives/kernels/kernels.h"
#include "topology/session.h"
#include "tuner/statistics.h"

namespace hockney {

// How fast the ranks of one host copy when all do at once: bytes read plus bytes written a second.
struct CopyRate {
  double median = 0;
  Interval interval;
};

// What was measured on the shared memory of one host.
struct MemoryProbe {
  std::size_t buffer_bytes = 0;  // of a rank, one of the two
  std::optional<double> page_kib;
  std::optional<CopyRate> cached;  // by store policy
  std::optional<CopyRate> non_temporal;
  std::string reason;  // why something is missing
};

// Measures copies over two buffers of `buffer_bytes` a rank, or less where that is more than a
// quarter of the memory still available; below a second in all but for the first touch. `local` are
// the ranks of one host, pinned. Collective over `local`; every rank gets the same.
MemoryProbe ProbeMemory(Session& local, std::size_t buffer_bytes);

// Returns "allowed", "denied: ..." with rank and cause, or "not applicable: ...": whether ranks may
// read each other's memory through the kernel (cross-memory attach), as MPI libraries like to. Each
// rank reads both neighbours. Collective over `local`.
std::string ProbeCrossMemoryAttach(Session& local);

}  // namespace hockney
