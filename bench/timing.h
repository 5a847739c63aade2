#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/tick.h"
#include "collectives/executors/executor.h"
#include "topology/session.h"
#include "topology/watchdog.h"

namespace hockney {

// One sample of all ranks, on the clock that the ranks of a host share. Times are of one call.
struct Sample {
  double time_us = 0;                // last exit - first entry
  double entry_skew_ns = 0;          // last entry - first entry
  int slowest_rank = 0;              // that took longest from its own entry to its exit
  std::vector<double> rank_us = {};  // each rank's own exit - entry
  std::vector<double> call_us = {};  // each call's longest own time of any rank, if asked for
};

// Something that ranks time together.
struct Timed {
  std::function<void()> before = {};  // outside the timed part: refresh, evict
  std::vector<Prepared*> calls = {};  // run one after the other in one timed part
  const char* label = "";             // for messages; lives until the timer has run
  const char* blocking = nullptr;     // static name for the watchdog; null: has deadlines itself
  bool times_calls = false;           // wants Sample::call_us, at the cost of a clock read a call
};

// How the ranks get to the start of a sample.
enum class Start { kBarrier, kTick };

// Times things together with the other ranks of a host.
class Timer {
 public:
  // `barrier` is our own and used for every competitor, whoever's collective is timed. `stop` says
  // whether this rank was told to stop. `tick` may be null, then Start::kTick is not asked for. All
  // outlive the timer.
  Timer(Session& session, Prepared& barrier, TickStart* tick, Watchdog& watchdog,
        std::function<bool()> stop)
      : session_(session),
        barrier_(barrier),
        tick_(tick),
        watchdog_(watchdog),
        stop_(std::move(stop)) {}

  // Runs the timed things in the order given by `order` (indices, the same on all ranks) and
  // returns on rank 0 the sample of each place, elsewhere nothing. `wall_seconds` gets the whole
  // time each place took on this rank, preparation included. Collective.
  std::vector<Sample> Run(std::span<const Timed> things, std::span<const int> order, Start start,
                          std::vector<double>* wall_seconds);
  // Whether, by the end of the last Run, some rank was told to stop. Known on rank 0.
  bool interrupted() const { return interrupted_; }

 private:
  void RunOne(const Timed& thing, Start start, std::vector<std::int64_t>& stamps);

  Session& session_;
  Prepared& barrier_;
  TickStart* tick_;
  Watchdog& watchdog_;
  std::function<bool()> stop_;
  bool interrupted_ = false;
};

}  // namespace hockney
