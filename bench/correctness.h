#pragma once

#include <cstdint>
#include <string>

#include "bench/buffers.h"
#include "collectives/executors/executor.h"
#include "topology/session.h"

namespace hockney {

struct CheckResult {
  std::uint64_t errors =
      0;  // wrong elements over all ranks, one more for each rank with a damaged guard or input
  std::string reason;  // what is wrong first, empty if nothing
};

// Runs `prepared` once on exact data made from `seed`, with poisoned output and guards, and
// compares every element of every rank bit for bit with what the collective must give. Collective;
// every rank gets the same result. Source of the data: bench/data_check.h.
CheckResult CheckData(Session& session, Prepared& prepared, const Call& call, const BufferSet& set,
                      std::uint64_t seed);

// The halves of it, for calls that run among others: what comes before the call, on `rank` of its
// session alone, and after it, collective.
void FillForCheck(int rank, const Call& call, const BufferSet& set, std::uint64_t seed);
CheckResult CompareData(Session& session, const Call& call, const BufferSet& set,
                        std::uint64_t seed);

}  // namespace hockney
