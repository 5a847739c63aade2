#pragma once

#include <vector>

#include "bench/clock/clock_link.h"
#include "bench/clock/drift_fit.h"
#include "bench/clock/local_clock.h"

namespace hockney {

// Compares the own clock with that of a peer, which calls AnswerClock meanwhile.
class ClockTalk {
 public:
  // Waits for the peer. All outlive the talk.
  ClockTalk(LocalClock& clock, ClockLink& link, int peer);

  // Returns `count` points, `interval_ns` apart, each the shortest of several round trips.
  std::vector<ClockPoint> Compare(int count, std::int64_t interval_ns);
  // Lets the peer go.
  void End();

 private:
  ClockPoint PingPong();

  LocalClock& clock_;
  ClockLink& link_;
  int peer_;
};

// Answers the peer's ClockTalk until its end.
void AnswerClock(LocalClock& clock, ClockLink& link, int peer);

}  // namespace hockney
