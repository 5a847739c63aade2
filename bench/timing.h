#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bench/clock/clock_kind.h"
#include "bench/clock/global_clock.h"
#include "bench/clock/round_start.h"
#include "bench/tick.h"
#include "collectives/executors/executor.h"
#include "topology/session.h"
#include "topology/watchdog.h"

namespace hockney {

// One sample of all ranks. Times are of one call.
struct Sample {
  double time_us = 0;   // last exit - first entry on the common clock; local_us where there is none
  double local_us = 0;  // the longest that a rank took from its own entry to its exit
  double clock_error_us = 0;                 // bound of time_us' error where clocks differ
  std::optional<double> entry_skew_ns = {};  // last entry - first entry, on a common clock
  int slowest_rank = 0;                      // of the session, that took local_us
  std::vector<double> rank_us = {};          // each rank's (of the group) own exit - entry
  std::vector<double> call_us = {};  // each call's longest own time of any rank, if asked for
};

// Something that ranks time together.
struct Timed {
  std::function<void()> before = {};  // outside the timed part: refresh, evict
  std::vector<Prepared*> calls = {};  // run one after the other in one timed part
  const char* label = "";             // for messages; lives until the timer has run
  const char* blocking = nullptr;     // static name for the watchdog; null: has deadlines itself
  // Starts together with the other ranks and times the calls itself, in nanoseconds; only for
  // ClockKind::kLocal.
  std::function<std::int64_t()> own_clock = {};
  bool times_calls = false;  // wants Sample::call_us, at the cost of a clock read a call
};

// How the ranks get to the start of a sample.
enum class Start : std::uint8_t { kBarrier, kTick, kRoundTime };

// What a Timer works with. All outlive it.
struct TimerParts {
  Prepared* barrier = nullptr;  // our own, for every competitor, whoever's collective is timed
  TickStart* tick = nullptr;    // may be null if Start::kTick is not asked for
  Watchdog* watchdog = nullptr;
  ClockKind clock = ClockKind::kTsc;
  GlobalClock* global = nullptr;  // null unless kHca3; needed for Start::kRoundTime
  // Ranks of the session whose times make this rank's samples, ascending; all if there are none.
  std::vector<int> members = {};
};

// Times things together with the other ranks. Groups of ranks (TimerParts::members) may each time
// things of their own, as many and in the same order: all start together, and each group has its
// samples.
class Timer {
 public:
  // `stop` says whether this rank was told to stop. All parts are of the whole `session`.
  Timer(Session& session, const TimerParts& parts, std::function<bool()> stop);

  // Runs the timed things in the order given by `order` (indices, the same on all ranks) and
  // returns on the first rank (of each group) the sample of each place, elsewhere nothing. A place
  // that a rank came late to (Start::kRoundTime) is run again, with more time ahead and at last
  // from a barrier. `wall_seconds` gets the whole time each place took on this rank, preparation
  // included. Collective.
  std::vector<Sample> Run(std::span<const Timed> things, std::span<const int> order, Start start,
                          std::vector<double>* wall_seconds);
  // Whether, by the end of the last Run, some rank was told to stop. Known on rank 0.
  bool interrupted() const { return interrupted_; }

 private:
  // What one rank notes: for every place whether it came late; then for every place entry and exit,
  // or entry and the end of every call; whether it was told to stop.
  using Stamps = std::vector<std::int64_t>;
  // What Run was asked for.
  struct Batch {
    std::span<const Timed> things;
    std::span<const int> order;
    std::vector<Sample>* samples;
    std::vector<double>* wall_seconds;

    const Timed& At(std::size_t place) const { return things[order[place]]; }
  };

  std::int64_t Now() const;
  bool RunOne(const Timed& thing, Start start, Stamps& stamps);
  std::vector<std::size_t> RunPlaces(const Batch& batch, std::span<const std::size_t> places,
                                     Start start);
  std::vector<Stamps> GatherStamps(Stamps& mine);
  Sample Combine(std::span<const std::span<const std::int64_t>> by_rank, const Timed& thing) const;
  void SetCommonTimes(std::span<const std::span<const std::int64_t>> by_rank, Sample& sample) const;

  Session& session_;
  TimerParts parts_;
  std::function<bool()> stop_;
  std::optional<RoundStart> round_start_;
  bool interrupted_ = false;
};

}  // namespace hockney
