#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/clock/global_clock.h"
#include "topology/session.h"

namespace hockney {

// Lets ranks that share no memory start together: rank 0 names a common time shortly ahead, and all
// wait for it on their own clocks. Source: round-time starts, ReproMPI.
class RoundStart {
 public:
  // Both outlive the start.
  RoundStart(Session& session, const GlobalClock& clock) : session_(session), clock_(clock) {}

  // Returns at the named time and whether it did so in time: not where the time had passed when its
  // name came, or this rank lost its core and came back too late. All ranks call it, having just
  // left a barrier.
  bool Wait();
  // After some starts, on all ranks alike: `late` of them found a rank late. The time ahead
  // follows.
  void Adapt(std::size_t late, std::size_t starts);

 private:
  Session& session_;
  const GlobalClock& clock_;
  std::int64_t ahead_ns_ = 100'000;
};

}  // namespace hockney
