#include "bench/cell_schedule.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "bench/clock/row_clock.h"
#include "bench/options.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr double kBatchSeconds = 0.03;  // between two decisions
constexpr int kMostRounds = 64;
constexpr std::size_t kLeastSamples = 5;  // also when the budget is used up
constexpr double kWarmShare = 0.25;       // of the budget
// Of each row, to choose one: so many samples, or fewer that take this long.
constexpr std::size_t kTrialSamples = 5;
constexpr std::size_t kLeastTrialSamples = 2;
constexpr double kTrialSeconds = 0.03;
constexpr double kClockTickUs = 0.001;
constexpr double kTickStartBelowUs = 10;  // a barrier's skew would show in shorter times

std::uint64_t NextRandom(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

bool IsRow(const Competitor& competitor) { return competitor.bound_bytes == 0; }

CellSchedule::CellSchedule(const SweepOptions& options, std::vector<Competitor>& competitors,
                           std::uint64_t seed, std::optional<Start> agreed_start)
    : options_(options),
      competitors_(competitors),
      iterations_(options.iterations),
      warmups_(options.warmups),
      state_(seed),
      choosing_(options.chooses_one) {
  if (options.mode == TimingMode::kIsolated) agreed_start_ = agreed_start;
  if (agreed_start_ == Start::kRoundTime) start_ = Start::kRoundTime;
}

void CellSchedule::CountCalls(std::uint64_t calls) {
  iterations_ = *options_.calls / calls;
  if (warmups_) warmups_ = (*warmups_ + calls - 1) / calls;
}

void CellSchedule::Begin() {
  if (warmups_ != 0U || choosing_) return;
  for (Competitor& c : competitors_) c.warming = false;
}

CellSchedule::Plan CellSchedule::MakePlan(bool interrupted) const {
  Plan plan;
  plan.interrupted = interrupted ? 1 : 0;
  plan.start = start_;
  if (const auto best = FindBest()) {
    plan.chosen = static_cast<std::int32_t>(*best);
    plan.chosen_us = Median(competitors_[*best].warm_times_us);
  }
  bool any = false;
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    plan.active[i] = competitors_[i].active && IsRow(competitors_[i]) ? 1 : 0;
    any = any || plan.active[i] != 0;
  }
  // The passes of the bound are timed as long as any row is.
  for (std::size_t i = 0; i < competitors_.size() && any; ++i) {
    if (!IsRow(competitors_[i])) plan.active[i] = 1;
  }
  plan.rounds = any && plan.interrupted == 0 ? ChooseRounds() : 0;
  return plan;
}

std::vector<int> CellSchedule::Follow(const Plan& plan) {
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    competitors_[i].active = plan.active[i] != 0;
  }
  if (plan.chosen >= 0) Choose(static_cast<std::size_t>(plan.chosen));
  last_batch_rounds_ = plan.rounds;
  std::vector<int> order;
  for (int round = 0; round < plan.rounds; ++round) {
    const std::size_t begin = order.size();
    for (std::size_t i = 0; i < competitors_.size(); ++i) {
      if (competitors_[i].active) order.push_back(static_cast<int>(i));
    }
    for (std::size_t left = order.size() - begin; left > 1; --left) {
      std::swap(order[begin + left - 1], order[begin + NextRandom(state_) % left]);
    }
  }
  return order;
}

int CellSchedule::ChooseRounds() const {
  if (iterations_ && !choosing_) {
    // All rows have come equally far.
    const auto row = std::find_if(competitors_.begin(), competitors_.end(),
                                  [](const Competitor& c) { return c.active && IsRow(c); });
    const std::uint64_t left = !row->warming ? *iterations_ - row->times_us.size()
                               : warmups_    ? *warmups_ - row->warm_times_us.size()
                                             : 1;
    return static_cast<int>(std::clamp<std::uint64_t>(left, 1, kMostRounds));
  }
  if (last_batch_rounds_ == 0) return 1;
  const double round = last_batch_seconds_ / last_batch_rounds_;
  return std::clamp(static_cast<int>(kBatchSeconds / std::max(round, 1e-9)), 1,
                    choosing_ ? static_cast<int>(kTrialSamples) : kMostRounds);
}

void CellSchedule::Absorb(std::span<const int> order, std::span<const Sample> samples,
                          std::span<const double> walls) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    Competitor& c = competitors_[order[i]];
    const Sample& sample = samples[i];
    c.wall_seconds += walls[i];
    if (c.warming || choosing_) {
      c.warm_times_us.push_back(sample.time_us);
      continue;
    }
    SampleRow row;
    row.sample = static_cast<std::int64_t>(c.times_us.size());
    row.order = next_place_ + static_cast<std::int64_t>(i);
    row.time_us = sample.time_us;
    row.slowest_rank = sample.slowest_rank;
    c.samples.push_back(row);
    c.times_us.push_back(sample.time_us);
    c.local_us.push_back(sample.local_us);
    c.clock_error_us = std::max(c.clock_error_us, sample.clock_error_us);
    if (sample.entry_skew_ns) c.skews_ns.push_back(*sample.entry_skew_ns);
    c.rank_us.resize(sample.rank_us.size());
    for (std::size_t r = 0; r < c.rank_us.size(); ++r) c.rank_us[r] += sample.rank_us[r];
    c.call_us.insert(c.call_us.end(), sample.call_us.begin(), sample.call_us.end());
  }
  next_place_ += static_cast<std::int64_t>(order.size());
}

bool CellSchedule::IsWarm(const Competitor& c) const {
  if (warmups_) return c.warm_times_us.size() >= *warmups_;
  const WarmUpRule rule{.clock_tick = kClockTickUs};
  return rule.Settled(c.warm_times_us) ||
         c.wall_seconds >= kWarmShare * options_.row_budget_seconds;
}

bool CellSchedule::NeedsMore(Competitor& c) const {
  if (iterations_) return c.times_us.size() < *iterations_;
  // The times that the row will have, as far as is known.
  const std::vector<double>& times =
      !c.times_us.empty() && IsClockTooUncertain(c) ? c.local_us : c.times_us;
  const StopReason stop = EndOfRow().Check(times, c.wall_seconds);
  c.row.converged = stop == StopReason::kConverged;
  return stop == StopReason::kContinue || c.times_us.size() < kLeastSamples;
}

StoppingRule CellSchedule::EndOfRow() const {
  return {.clock_tick = kClockTickUs, .budget_seconds = options_.row_budget_seconds};
}

void CellSchedule::SettleClock() {
  const auto is_timed = [](const Competitor& c) { return IsRow(c) && !c.times_us.empty(); };
  const auto cause =
      std::find_if(competitors_.begin(), competitors_.end(),
                   [&](const Competitor& c) { return is_timed(c) && IsClockTooUncertain(c); });
  std::string reason;
  if (cause != competitors_.end()) {
    reason = fmt::format("local times: the common clock is known to {:.3g} us, above 5 % of {}",
                         cause->clock_error_us, cause->label);
  }
  for (Competitor& c : competitors_) {
    if (!is_timed(c) || c.row.clock != Name(ClockKind::kHca3)) continue;
    c.row.clock_error_us = c.clock_error_us;
    if (reason.empty()) continue;
    UseLocalTimes(c, reason);
    if (c.row.converged) {
      c.row.converged = EndOfRow().Check(c.times_us, c.wall_seconds) == StopReason::kConverged;
    }
  }
}

void CellSchedule::Take(std::span<const int> order, std::span<const Sample> samples,
                        std::span<const double> wall_seconds) {
  last_batch_seconds_ = 0;
  for (const double wall : wall_seconds) last_batch_seconds_ += wall;
  Absorb(order, samples, wall_seconds);
  if (choosing_) return;
  for (Competitor& c : competitors_) {
    if (!c.active || !IsRow(c)) continue;
    if (c.warming) {
      c.warming = !IsWarm(c);
    } else {
      c.active = NeedsMore(c);
    }
  }
  SettleStart();
}

// The fastest row of a trial in which each had its share.
std::optional<std::size_t> CellSchedule::FindBest() const {
  if (!choosing_) return std::nullopt;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    const Competitor& c = competitors_[i];
    if (!c.active) continue;
    const std::size_t samples = c.warm_times_us.size();
    const bool enough = samples >= kTrialSamples ||
                        (samples >= kLeastTrialSamples && c.wall_seconds >= kTrialSeconds);
    if (!enough) return std::nullopt;
    if (!best || Median(c.warm_times_us) < Median(competitors_[*best].warm_times_us)) best = i;
  }
  return best;
}

// Ends the trial, whose samples only choose.
void CellSchedule::Choose(std::size_t best) {
  choosing_ = false;
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    Competitor& c = competitors_[i];
    if (!c.active || i == best) continue;
    c.active = false;
    c.row.status = Status::kSkipped;
    c.row.reason = "slower in the trial";
  }
  competitors_[best].warm_times_us.clear();
  competitors_[best].wall_seconds = 0;
  competitors_[best].warming = warmups_ != 0U;
}

// All rows of a cell start alike, as the shortest one needs it, from the first that is timed on.
void CellSchedule::SettleStart() {
  if (starts_settled_ || agreed_start_ != Start::kTick) return;
  bool any_timed = false;
  for (const Competitor& c : competitors_) {
    if (!IsRow(c) || c.warm_times_us.empty()) continue;
    any_timed = any_timed || !c.warming;
    if (Median(c.warm_times_us) < kTickStartBelowUs) start_ = Start::kTick;
  }
  starts_settled_ = any_timed;
}

}  // namespace hockney
