#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/simulate/simulate.h"

namespace hockney {

// The slices of a traced simulation as a Chrome trace (chrome://tracing, Perfetto): a process a
// rank, a thread a lane; times in microseconds. JSON text.
std::string ChromeTrace(std::span<const SliceRecord> records,
                        std::span<const Simulation::LaneName> lanes);

// The chain of slices that decided when the call ended, from its start on.
struct CriticalStep {
  SliceRecord slice = {};
  double waited_seconds = 0;  // from the end of the slice it waited for to its begin: on the wire
};
std::vector<CriticalStep> CriticalPath(std::span<const SliceRecord> records);

// How a critical path's time divides.
struct PathShares {
  double work_seconds = 0;     // lanes at work: copies, sums, overheads
  double message_seconds = 0;  // messages on their way: latency, bytes, others' bytes before them
  double credit_seconds = 0;   // waiting for a free slot
  double token_seconds = 0;    // tokens on their way
};
PathShares SharesOf(std::span<const CriticalStep> path);

}  // namespace hockney
