#pragma once

#include <cstdint>

#include "collectives/executors/host/host_domain.h"

namespace hockney {

// Nanoseconds on the clock that all processes of a host share (CLOCK_MONOTONIC).
std::int64_t NowNs();

struct TickBoard;  // what the ranks share, on the domain's boards

// Lets the ranks of a host start together at an agreed time, closer than a barrier leaves them:
// rank 0 names a time shortly ahead, and all spin until it has come. Ranks must have a core each.
class TickStart {
 public:
  // `domain` outlives the tick; every rank makes one TickStart a domain.
  TickStart(HostDomain& domain, double timeout_seconds);

  // Returns at the agreed time; all ranks call it, having just left a barrier. Throws TimeoutError
  // if rank 0 names none in time.
  void Wait();

 private:
  TickBoard& board_;  // rank 0's
  int rank_;
  std::int64_t lead_ns_;
  std::int64_t timeout_ns_;
  std::uint64_t round_ = 0;
};

// Measures how long a cache line takes from core to core, which changes with where a virtual
// machine puts its cores and decides the times of small messages.
class LineProbe {
 public:
  // `domain` outlives the probe; every rank makes one LineProbe a domain.
  LineProbe(HostDomain& domain, double timeout_seconds);

  // Returns on rank 0 half a round trip in nanoseconds (median of batches) between it and the rank
  // that is farthest from it, elsewhere and for one rank 0. Collective; ranks must have a core
  // each. Throws TimeoutError if a rank does not answer in time.
  double Measure();

 private:
  double MeasurePeer(int peer);
  void Answer();

  HostDomain& domain_;
  std::int64_t timeout_ns_;
  std::uint64_t measured_ = 0;
};

}  // namespace hockney
