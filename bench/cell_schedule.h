#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bench/competitors.h"
#include "bench/sweep_options.h"
#include "bench/timing.h"
#include "tuner/statistics.h"

namespace hockney {

// What of a cell is timed next, and when each row has enough: a trial where one of ours is chosen,
// warm-up, then samples until the interval is narrow or the budget is used up. Rank 0 (of each
// group) decides from the samples; the order follows from the plan on every rank alike.
class CellSchedule {
 public:
  // What rank 0 decides between two batches; plain data, for all ranks.
  struct Plan {
    static constexpr std::size_t kMostCompetitors = 512;
    std::int32_t rounds = 0;  // 0: the cell ends
    std::int32_t interrupted = 0;
    std::int32_t chosen = -1;  // the one row that is timed from now on, if this is decided now
    Start start = Start::kBarrier;
    double chosen_us = 0;  // its time in the trial
    std::uint8_t active[kMostCompetitors] = {};
  };

  // Where the ranks can start at an agreed time, isolated calls do: the short ones by the tick, all
  // by Start::kRoundTime.
  CellSchedule(const SweepOptions& options, std::vector<Competitor>& competitors,
               std::uint64_t seed, std::optional<Start> agreed_start);

  // One sample is a batch of `calls` calls, which --calls counts.
  void CountCalls(std::uint64_t calls);
  // Before the first plan.
  void Begin();
  Plan MakePlan(bool interrupted) const;
  // Marks what `plan` times and returns its order: rounds over all active competitors, each
  // shuffled anew; the same on all ranks.
  std::vector<int> Follow(const Plan& plan);
  // Rank 0: takes a batch's samples, and moves or ends the rows that have what they need. Between
  // batches only, so that all samples of a row start alike.
  void Take(std::span<const int> order, std::span<const Sample> samples,
            std::span<const double> wall_seconds);
  // Rank 0, at the end: where rows were timed on a common clock that is not known well enough, all
  // get local times. A cell's rows are compared, so one definition of time serves them all.
  void SettleClock();

 private:
  int ChooseRounds() const;
  void Absorb(std::span<const int> order, std::span<const Sample> samples,
              std::span<const double> wall_seconds);
  std::optional<std::size_t> FindBest() const;
  void Choose(std::size_t best);
  void SettleStart();
  bool IsWarm(const Competitor& competitor) const;
  bool NeedsMore(Competitor& competitor) const;
  StoppingRule EndOfRow() const;

  const SweepOptions& options_;
  std::vector<Competitor>& competitors_;
  std::optional<std::uint64_t> iterations_;  // samples; empty: the stopping rule decides
  std::optional<std::uint64_t> warmups_;
  std::uint64_t state_ = 0;  // of the order's random numbers
  bool choosing_ = false;    // which of our rows is timed
  std::optional<Start> agreed_start_;
  bool starts_settled_ = false;
  Start start_ = Start::kBarrier;
  std::int64_t next_place_ = 0;
  double last_batch_seconds_ = 0;
  int last_batch_rounds_ = 0;
};

// Whether a competitor is a row of the table, not a pass over memory that bounds rows.
bool IsRow(const Competitor& competitor);

}  // namespace hockney
