#include "bench/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/bound.h"
#include "bench/cell_buffers.h"
#include "bench/correctness.h"
#include "bench/options.h"
#include "bench/row_statistics.h"
#include "topology/check.h"
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
constexpr const char* kMpiName = "an MPI collective";  // for the watchdog

std::uint64_t NextRandom(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

bool IsMpi(const Competitor& competitor) { return competitor.row.implementation == "mpi"; }
bool IsRow(const Competitor& competitor) { return competitor.bound_bytes == 0; }

// A call and a barrier as one.
class WithBarrier : public Prepared {
 public:
  WithBarrier(Prepared& call, Prepared& barrier) : call_(call), barrier_(barrier) {}
  void Run() override {
    call_.Run();
    barrier_.Run();
  }

 private:
  Prepared& call_;
  Prepared& barrier_;
};

}  // namespace

std::size_t CellArenaBytes(const SweepOptions& options, const Cell& cell, std::uint64_t llc_bytes) {
  const BufferPlan plan = PlanBuffers(options, cell, llc_bytes);
  return plan.set_bytes * static_cast<std::size_t>(plan.sets);
}

CellRunner::CellRunner(const SweepContext& context, const Cell& cell, Emit emit)
    : context_(context),
      options_(*context.options),
      cell_(cell),
      emit_(std::move(emit)),
      iterations_(options_.iterations),
      warmups_(options_.warmups),
      // Another order for every cell, the same on all ranks.
      state_(options_.seed + cell.count * 11 + static_cast<std::uint64_t>(cell.collective)),
      choosing_(options_.chooses_one) {}

// The labels of the competitors end with them.
CellRunner::~CellRunner() { context_.watchdog->SetActivity("the step to the next size"); }

void CellRunner::PlaceBuffers() {
  const Layout layout = LayoutOf(cell_);
  const BufferPlan plan = PlanBuffers(options_, cell_, context_.llc.bytes);
  for (int s = 0; s < plan.sets; ++s) {
    sets_.emplace_back(layout, context_.session->rank(), cell_.in_place,
                       context_.domain->arena().subspan(s * plan.set_bytes + plan.shift_bytes,
                                                        plan.set_bytes - plan.shift_bytes));
  }
  if (!options_.calls) return;
  const auto calls = static_cast<std::uint64_t>(plan.calls);
  iterations_ = *options_.calls / calls;
  if (warmups_) warmups_ = (*warmups_ + calls - 1) / calls;
}

bool CellRunner::Run() {
  PlaceBuffers();
  competitors_ = MakeCompetitors(context_, cell_, sets_);
  if (options_.mode == TimingMode::kStreamed && sets_.size() == 1) {
    for (Competitor& c : competitors_) {
      c.row.mode = "isolated";
      if (c.row.reason.empty()) c.row.reason = "streamed asked for; 4 calls do not fit";
    }
  }
  for (Competitor& c : competitors_) c.active = !c.prepared.empty();
  if (options_.checks > 0 && cell_.collective != Collective::kBarrier) CheckAll();
  AddBoundPasses();
  if (warmups_ == 0U && !choosing_) {
    for (Competitor& c : competitors_) c.warming = false;
  }
  const bool finished = TimeAll();
  if (context_.session->rank() == 0) EmitRows();
  return finished;
}

void CellRunner::CheckAll() {
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    Competitor& c = competitors_[i];
    if (c.prepared.empty()) continue;
    context_.watchdog->SetActivity(c.label.c_str());
    for (int check = 0; check < options_.checks; ++check) {
      const std::uint64_t seed = options_.seed * 1000003 + i * 101 + check;
      if (IsMpi(c)) context_.watchdog->Arm(kMpiName);
      const CheckResult result =
          CheckData(*context_.session, *c.prepared[0], MakeCall(cell_, sets_[0]), sets_[0], seed);
      if (IsMpi(c)) context_.watchdog->Disarm();
      c.row.errors = c.row.errors.value_or(0) + result.errors;
      if (result.errors == 0) continue;
      c.row.status = Status::kWrongData;
      c.row.reason = result.reason;
      c.active = false;
    }
  }
}

// The order of `rounds` rounds over all active competitors, each round shuffled anew; the same on
// all ranks.
std::vector<int> CellRunner::NextOrder(int rounds) {
  std::vector<int> order;
  for (int round = 0; round < rounds; ++round) {
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

int CellRunner::ChooseRounds() const {
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

// Only where the buffers do not fit the caches: there a collective cannot be faster than memory.
void CellRunner::AddBoundPasses() {
  const Layout layout = LayoutOf(cell_);
  std::size_t together = 0;
  std::size_t room = 0;
  for (int r = 0; r < cell_.ranks; ++r) {
    const std::size_t bytes = BufferSet::Bytes(layout, r, cell_.in_place);
    together += bytes;
    room = std::max(room, bytes);
  }
  if (together < 2 * context_.llc.bytes || sets_.size() > 1 || options_.chooses_one) return;
  std::vector<std::span<std::byte>> rooms;
  rooms.reserve(cell_.ranks);
  for (int r = 0; r < cell_.ranks; ++r) rooms.push_back(context_.domain->ArenaOf(r).first(room));
  for (Competitor& pass : MakeBoundPasses(rooms, context_.session->rank())) {
    pass.active = true;
    pass.warming = false;  // the data checks have touched every page
    pass.label = "the passes over memory that bound the rows";
    competitors_.push_back(std::move(pass));
  }
}

void CellRunner::MakeTimed() {
  for (Competitor& c : competitors_) {
    Timed timed{.label = c.label.c_str(),
                .blocking = IsMpi(c) ? kMpiName : nullptr,
                .times_calls = options_.times_calls};
    // The passes of the bound find memory in the same state as the rows they bound.
    const bool refresh = options_.buffers != BufferState::kHot;
    timed.before = [this, refresh] {
      for (const BufferSet& set : sets_) {
        if (refresh) set.Refresh();
      }
      if (context_.flusher != nullptr) context_.flusher->Flush();
    };
    for (const auto& prepared : c.prepared) {
      timed.calls.push_back(prepared.get());
      if (!options_.barrier_after_call) continue;
      wrapped_.push_back(std::make_unique<WithBarrier>(*prepared, *context_.barrier));
      timed.calls.back() = wrapped_.back().get();
    }
    timed_.push_back(std::move(timed));
  }
}

// What rank 0 decides between two batches.
struct CellRunner::Plan {
  static constexpr std::size_t kMostCompetitors = 512;
  std::int32_t rounds = 0;  // 0: the cell ends
  std::int32_t interrupted = 0;
  std::int32_t by_tick = 0;
  std::uint8_t active[kMostCompetitors] = {};
};

CellRunner::Plan CellRunner::MakePlan() const {
  Plan plan;
  plan.interrupted = context_.timer->interrupted() ? 1 : 0;
  plan.by_tick = start_ == Start::kTick ? 1 : 0;
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

bool CellRunner::TimeAll() {
  if (competitors_.size() > Plan::kMostCompetitors) {
    throw Agreed<UsageError>("sweep: more than 512 variants of one size; ask for fewer");
  }
  MakeTimed();
  ProbeLine();
  Plan plan;
  while (true) {
    if (context_.session->rank() == 0) plan = MakePlan();
    context_.session->Broadcast(std::as_writable_bytes(std::span(&plan, 1)), 0);
    for (std::size_t i = 0; i < competitors_.size(); ++i) {
      competitors_[i].active = plan.active[i] != 0;
    }
    if (plan.rounds == 0) break;
    const std::vector<int> order = NextOrder(plan.rounds);
    std::vector<double> walls;
    const std::vector<Sample> samples = context_.timer->Run(
        timed_, order, plan.by_tick != 0 ? Start::kTick : Start::kBarrier, &walls);
    last_batch_rounds_ = plan.rounds;
    last_batch_seconds_ = 0;
    for (const double wall : walls) last_batch_seconds_ += wall;
    if (context_.session->rank() == 0) {
      Absorb(order, samples, walls);
      Decide();
    }
  }
  ProbeLine();
  return plan.interrupted == 0;
}

void CellRunner::ProbeLine() {
  if (context_.line_probe == nullptr) return;
  line_transfers_ns_.push_back(context_.line_probe->Measure());
}

void CellRunner::Absorb(std::span<const int> order, std::span<const Sample> samples,
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
    c.skews_ns.push_back(sample.entry_skew_ns);
    c.rank_us.resize(sample.rank_us.size());
    for (std::size_t r = 0; r < c.rank_us.size(); ++r) c.rank_us[r] += sample.rank_us[r];
    c.call_us.insert(c.call_us.end(), sample.call_us.begin(), sample.call_us.end());
  }
  next_place_ += static_cast<std::int64_t>(order.size());
}

bool CellRunner::IsWarm(const Competitor& c) const {
  if (warmups_) return c.warm_times_us.size() >= *warmups_;
  const WarmUpRule rule{.clock_tick = kClockTickUs};
  return rule.Settled(c.warm_times_us) ||
         c.wall_seconds >= kWarmShare * options_.row_budget_seconds;
}

bool CellRunner::NeedsMore(Competitor& c) const {
  if (iterations_) return c.times_us.size() < *iterations_;
  const StoppingRule rule{.clock_tick = kClockTickUs,
                          .budget_seconds = options_.row_budget_seconds};
  const StopReason stop = rule.Check(c.times_us, c.wall_seconds);
  c.row.converged = stop == StopReason::kConverged;
  return stop == StopReason::kContinue || c.times_us.size() < kLeastSamples;
}

// Moves the rows from trial to warm-up to timing, and ends those that have what they need. Between
// batches only, so that all samples of a row start alike.
void CellRunner::Decide() {
  if (choosing_) {
    ChooseOne();
    return;
  }
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

// Ends the trial, whose samples only choose, when each row had its share.
void CellRunner::ChooseOne() {
  Competitor* best = nullptr;
  for (Competitor& c : competitors_) {
    if (!c.active) continue;
    const std::size_t samples = c.warm_times_us.size();
    const bool enough = samples >= kTrialSamples ||
                        (samples >= kLeastTrialSamples && c.wall_seconds >= kTrialSeconds);
    if (!enough) return;
    if (best == nullptr || Median(c.warm_times_us) < Median(best->warm_times_us)) best = &c;
  }
  choosing_ = false;
  for (Competitor& c : competitors_) {
    if (!c.active || &c == best) continue;
    c.active = false;
    c.row.status = Status::kSkipped;
    c.row.reason = "slower in the trial";
  }
  if (best == nullptr) return;
  best->warm_times_us.clear();
  best->wall_seconds = 0;
  best->warming = warmups_ != 0U;
}

// All rows of a cell start alike, as the shortest one needs it, from the first that is timed on.
void CellRunner::SettleStart() {
  if (starts_settled_ || context_.line_probe == nullptr) return;
  if (options_.mode != TimingMode::kIsolated) return;
  bool any_timed = false;
  for (const Competitor& c : competitors_) {
    if (!IsRow(c) || c.warm_times_us.empty()) continue;
    any_timed = any_timed || !c.warming;
    if (Median(c.warm_times_us) < kTickStartBelowUs) start_ = Start::kTick;
  }
  starts_settled_ = any_timed;
}

// Nothing is faster than memory; but where the size of the caches is only assumed, a row that seems
// to be shows that they hold more.
void CellRunner::SetBound(SweepRow& row, double busbw) const {
  constexpr double kMostFraction = 1.05;
  row.bound_GBps = busbw;
  row.bound_fraction = *row.busbw_GBps / busbw;
  if (*row.bound_fraction <= kMostFraction || row.status != Status::kOk) return;
  if (!context_.llc.is_assumed()) {
    row.status = Status::kFailed;
    row.reason = "faster than memory: bound_fraction above 1.05";
    return;
  }
  row.reason =
      fmt::format("no bound: {:.2f} of it, so the caches hold more than the {} MiB assumed (--llc)",
                  *row.bound_fraction, context_.llc.bytes >> 20);
  row.bound_GBps.reset();
  row.bound_fraction.reset();
}

void CellRunner::EmitRows() {
  const auto rows_end = std::find_if_not(competitors_.begin(), competitors_.end(), IsRow);
  const std::span<Competitor> passes(rows_end, competitors_.end());
  const std::uint64_t required = RequiredBytes(LayoutOf(cell_), cell_.in_place);
  std::int64_t order = 0;
  for (auto c = competitors_.begin(); c != rows_end; ++c) {
    FinishRow(*c, cell_.ranks);
    c->row.order = order++;
    if (!line_transfers_ns_.empty()) c->row.c2c_ns = Mean(line_transfers_ns_);
    if (!passes.empty() && !passes[0].times_us.empty() && c->row.busbw_GBps) {
      SetBound(c->row, BoundBusbw(c->row, required, passes));
    }
    emit_(*c);
  }
}

}  // namespace hockney
