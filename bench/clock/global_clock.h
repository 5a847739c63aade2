#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/clock/clock_link.h"
#include "bench/clock/drift_fit.h"
#include "bench/clock/local_clock.h"
#include "topology/session.h"

namespace hockney {

// Which ranks read one clock.
struct ClockGroups {
  std::vector<int> of_rank = {};  // number of its group, 0 for rank 0's
  std::vector<int> firsts = {};   // first rank of each group
};

// Groups the ranks that pass the same name, for example that of their kernel. Collective; every
// rank gets the same.
ClockGroups GroupByClock(Session& session, const std::string& name);

// One time for all ranks, that of rank 0's clock, though clocks are set apart and drift. The first
// ranks of the groups compare their clocks along a tree (HCA3): each fits a line to the difference
// from its parent's clock over time and applies the parent's line to that, which is the fit to the
// parent's corrected clock, since a line fitted to a line's values is the line of the fit. The
// others of a group use its first rank's line.
class GlobalClock {
 public:
  // What this rank reads and whom it can ask: `link` reaches the first ranks of other groups and
  // may be null on other ranks. Both outlive the clock.
  struct Access {
    LocalClock* clock = nullptr;
    ClockLink* link = nullptr;
  };

  // Compares all clocks, for about a second at most. Collective. Throws TimeoutError naming a rank
  // that does not answer.
  GlobalClock(Session& session, ClockGroups groups, Access access);

  // Compares again, in about a millisecond, what has been extrapolated for too long: further ahead
  // than the comparisons reach back, or more than a few seconds. Collective; throws as above.
  void Refresh();

  // Nanoseconds on this rank's clock.
  std::int64_t LocalNowNs() const { return access_.clock->NowNs(); }
  void WaitUntilLocal(std::int64_t local_ns) const { access_.clock->WaitUntil(local_ns); }
  // The common time of a reading of this rank's clock, or of any rank's, and back.
  std::int64_t ToGlobal(std::int64_t local_ns) const { return ToGlobal(session_.rank(), local_ns); }
  std::int64_t ToGlobal(int rank, std::int64_t local_ns) const;
  std::int64_t ToLocal(std::int64_t global_ns) const;
  // Bound of the error of ToGlobal for a rank at a common time, in microseconds; 0 for rank 0 and
  // the ranks that read its clock.
  double ErrorUs(int rank, std::int64_t global_ns) const;
  // Bound of the error of the time between moments on any two ranks, in microseconds.
  double WidestErrorUs(std::int64_t global_ns) const;

 private:
  void Compare(int points, int checks, std::int64_t interval_ns);
  void Share();
  int nodes() const { return static_cast<int>(groups_.firsts.size()); }
  double NodeErrorNs(int node, std::int64_t global_ns) const;

  Session& session_;
  ClockGroups groups_;
  Access access_;
  DriftFit fit_;                     // to the parent's clock, on first ranks
  std::vector<ClockFit> fits_;       // of each group, to its parent's clock
  std::vector<ClockMap> to_global_;  // of each group
  std::int64_t first_ns_ = 0;        // when the clocks were compared first
  std::int64_t newest_ns_ = 0;       // and last, on the own clock
};

}  // namespace hockney
