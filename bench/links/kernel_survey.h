#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topology/session.h"
#include "tuner/records.h"

namespace hockney {

// The caches of a host. Bytes of one each.
struct CacheSizes {
  std::uint64_t l2_bytes = std::uint64_t{1} << 20;
  std::uint64_t llc_bytes = 0;
  int llc_ranks = 1;  // that share one last-level cache at most
};

// Slices of one operand by where those of all ranks at once lie.
struct SliceClass {
  std::string name = {};    // KernelRow::size_class
  std::uint64_t bytes = 0;  // of a slice
  // What slices of an operand move through, pass by pass; `bytes` where all are over the same one.
  std::uint64_t room_bytes = 0;
};

// Returns the classes that `ranks` ranks at once have, each with three operands: half of an L2
// cache or less; a quarter of a last-level cache, if that is more than twice the L2 caches; and
// memory, where an operand's slices move through as much as a last-level cache holds.
std::vector<SliceClass> SliceClasses(const CacheSizes& caches, int ranks);

struct KernelOptions {
  CacheSizes caches = {};          // rank 0's count
  std::string host = {};           // name of rank 0's host
  bool ranks_share_cores = false;  // then they are not measured at once
  double row_seconds = 0.008;
};

struct KernelFindings {
  std::vector<KernelRow> rows = {};  // on rank 0
  std::string reason = {};           // why there are none
  bool finished = true;              // false: the user ended it
};

// Times copies and sums of all types with both store policies on the host of rank 0, by that rank
// alone and by all of that host at once; ranks of other hosts wait. `local` is
// session.SplitSharedMemory(), its ranks pinned. `emit` gets rows as they are finished, on rank 0.
// Collective over `session`.
KernelFindings SurveyKernels(Session& session, Session& local, const KernelOptions& options,
                             const std::function<void(const KernelRow&)>& emit);

}  // namespace hockney
