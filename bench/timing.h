#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collectives/executors/executor.h"
#include "topology/session.h"

namespace hockney {

// One sample of all ranks: from the first entry to the last exit, on the clock that the ranks of a
// host share.
struct Sample {
  double time_us = 0;        // of one call
  double entry_skew_ns = 0;  // last entry - first entry
  int slowest_rank = 0;      // that took longest from its own entry to its exit
};

// Something that ranks time together.
struct Timed {
  std::function<void()> before;  // outside the timed part: refresh, evict
  std::vector<Prepared*> calls;  // run one after the other in one timed part
  const char* name = nullptr;    // static text for the guard; null: guards itself
};

// Times things together with the other ranks of a host.
class Timer {
 public:
  // `barrier` is our own and used for every competitor, whoever's collective is timed. `guard` is
  // told the name of what runs before each timed part and null after it.
  // `stop` says whether this rank was told to stop.
  Timer(Session& session, Prepared& barrier, std::function<void(const char*)> guard,
        std::function<bool()> stop)
      : session_(session), barrier_(barrier), guard_(std::move(guard)), stop_(std::move(stop)) {}

  // Runs the timed things in the order given by `order` (indices, the same on all ranks) and
  // returns on rank 0 the sample of each place, elsewhere nothing. `wall_seconds`, if not null,
  // gets the whole time each place took on this rank, preparation included. Collective.
  std::vector<Sample> Run(std::span<const Timed> things, std::span<const int> order,
                          std::vector<double>* wall_seconds);
  // Whether, by the end of the last Run, some rank was told to stop. Known on rank 0.
  bool interrupted() const { return interrupted_; }

 private:
  Session& session_;
  Prepared& barrier_;
  std::function<void(const char*)> guard_;
  std::function<bool()> stop_;
  bool interrupted_ = false;
};

}  // namespace hockney
