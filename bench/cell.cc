#include "bench/cell.h"

#include <algorithm>
#include <stdexcept>

#include "bench/bound.h"
#include "bench/correctness.h"
#include "bench/options.h"
#include "topology/check.h"
#include "tuner/bandwidth.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr int kLeastStreamedCalls = 4;
constexpr int kMostStreamedCalls = 128;  // each call has a buffer set of its own
constexpr double kBatchSeconds = 0.03;   // between two decisions
constexpr int kMostRounds = 64;
constexpr std::size_t kLeastSamples = 5;  // also when the budget is used up
constexpr double kWarmShare = 0.25;       // of the budget
constexpr double kClockTickUs = 0.001;
constexpr const char* kMpiName = "an MPI collective";  // for the watchdog

std::uint64_t NextRandom(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

Layout LayoutOf(const Cell& cell) {
  return Layout(EvenCounts(cell.shape(), cell.count), cell.type, Cut{});
}

std::size_t LargestSetBytes(const Cell& cell, const Layout& layout) {
  std::size_t bytes = 0;
  for (int rank = 0; rank < cell.ranks; ++rank) {
    bytes = std::max(bytes, BufferSet::Bytes(layout, rank, cell.in_place));
  }
  return bytes;
}

// Streamed: as many sets as make twice the last-level cache, 0 when four of them are more than
// that.
int StreamedCalls(const Cell& cell, const Layout& layout, std::uint64_t llc_bytes) {
  const std::size_t set = LargestSetBytes(cell, layout) * static_cast<std::size_t>(cell.ranks);
  const std::uint64_t calls = 2 * llc_bytes / std::max<std::size_t>(set, 1);
  if (calls < kLeastStreamedCalls) return 0;
  return static_cast<int>(std::min<std::uint64_t>(calls, kMostStreamedCalls));
}

int SetCount(const SweepOptions& options, const Cell& cell, const Layout& layout,
             std::uint64_t llc_bytes) {
  if (options.mode == TimingMode::kIsolated) return 1;
  return std::max(1, StreamedCalls(cell, layout, llc_bytes));
}

}  // namespace

std::size_t CellArenaBytes(const SweepOptions& options, const Cell& cell, std::uint64_t llc_bytes) {
  const Layout layout = LayoutOf(cell);
  return LargestSetBytes(cell, layout) *
         static_cast<std::size_t>(SetCount(options, cell, layout, llc_bytes));
}

CellRunner::CellRunner(const SweepContext& context, const Cell& cell, Emit emit)
    : context_(context), cell_(cell), emit_(std::move(emit)), state_(context.options->seed) {}

void CellRunner::PlaceBuffers() {
  const Layout layout = LayoutOf(cell_);
  const int rank = context_.session->rank();
  const std::size_t stride = LargestSetBytes(cell_, layout);
  const int sets = SetCount(*context_.options, cell_, layout, context_.llc.bytes);
  for (int s = 0; s < sets; ++s) {
    sets_.emplace_back(layout, rank, cell_.in_place,
                       context_.domain->arena().subspan(s * stride, stride));
  }
}

bool CellRunner::Run() {
  PlaceBuffers();
  competitors_ = MakeCompetitors(context_, cell_, sets_);
  if (context_.options->mode == TimingMode::kStreamed && sets_.size() == 1) {
    for (Competitor& c : competitors_) {
      c.row.mode = "isolated";
      if (c.row.reason.empty()) c.row.reason = "streamed asked for; 4 calls do not fit";
    }
  }
  for (Competitor& c : competitors_) c.active = !c.prepared.empty();
  if (context_.options->checks > 0 && cell_.collective != Collective::kBarrier) CheckAll();
  AddBoundPasses();
  const bool finished = TimeAll();
  if (context_.session->rank() == 0) EmitRows();
  return finished;
}

void CellRunner::CheckAll() {
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    Competitor& c = competitors_[i];
    if (c.prepared.empty()) continue;
    for (int check = 0; check < context_.options->checks; ++check) {
      const std::uint64_t seed = context_.options->seed * 1000003 + i * 101 + check;
      if (c.row.implementation == "mpi") context_.guard(kMpiName);
      const CheckResult result =
          CheckData(*context_.session, *c.prepared[0], MakeCall(cell_, sets_[0]), sets_[0], seed);
      context_.guard(nullptr);
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
  if (context_.options->iterations) {
    std::uint64_t wanted = *context_.options->iterations + context_.options->warmups.value_or(1);
    for (const Competitor& c : competitors_) {
      if (c.active)
        wanted -= std::min<std::uint64_t>(wanted, c.times_us.size() + c.warm_times_us.size());
      break;
    }
    return static_cast<int>(std::clamp<std::uint64_t>(wanted, 1, kMostRounds));
  }
  if (last_batch_rounds_ == 0) return 1;
  const double round = last_batch_seconds_ / last_batch_rounds_;
  return std::clamp(static_cast<int>(kBatchSeconds / std::max(round, 1e-9)), 1, kMostRounds);
}

// Only where the buffers do not fit the caches: there a collective cannot be faster than memory.
void CellRunner::AddBoundPasses() {
  const Layout layout = LayoutOf(cell_);
  std::size_t together = 0;
  for (int r = 0; r < cell_.ranks; ++r) together += BufferSet::Bytes(layout, r, cell_.in_place);
  if (together < 2 * context_.llc.bytes || sets_.size() > 1) return;
  std::vector<std::span<std::byte>> rooms;
  const std::size_t stride = LargestSetBytes(cell_, layout);
  rooms.reserve(cell_.ranks);
  for (int r = 0; r < cell_.ranks; ++r) rooms.push_back(context_.domain->ArenaOf(r).first(stride));
  for (Competitor& pass : MakeBoundPasses(rooms, context_.session->rank())) {
    pass.active = true;
    pass.warming = false;  // the data checks have touched every page
    competitors_.push_back(std::move(pass));
  }
}

void CellRunner::MakeTimed() {
  for (Competitor& c : competitors_) {
    Timed timed;
    timed.name = c.row.implementation == "mpi" ? kMpiName : nullptr;
    // The passes of the bound find memory in the same state as the rows they bound.
    const bool refresh = context_.options->buffers != BufferState::kHot;
    timed.before = [this, refresh] {
      for (const BufferSet& set : sets_) {
        if (refresh) set.Refresh();
      }
      if (context_.flusher != nullptr) context_.flusher->Flush();
    };
    for (const auto& prepared : c.prepared) timed.calls.push_back(prepared.get());
    timed_.push_back(std::move(timed));
  }
}

// What rank 0 decides between two batches.
struct CellRunner::Plan {
  static constexpr std::size_t kMostCompetitors = 512;
  std::int32_t rounds = 0;  // 0: the cell ends
  std::int32_t interrupted = 0;
  std::uint8_t active[kMostCompetitors] = {};
};

CellRunner::Plan CellRunner::MakePlan() const {
  Plan plan;
  plan.interrupted = context_.timer->interrupted() ? 1 : 0;
  bool any = false;
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    plan.active[i] = competitors_[i].active && competitors_[i].bound_bytes == 0 ? 1 : 0;
    any = any || plan.active[i] != 0;
  }
  // The passes of the bound are timed as long as any row is.
  for (std::size_t i = 0; i < competitors_.size() && any; ++i) {
    if (competitors_[i].bound_bytes > 0) plan.active[i] = 1;
  }
  plan.rounds = any && plan.interrupted == 0 ? ChooseRounds() : 0;
  return plan;
}

bool CellRunner::TimeAll() {
  if (competitors_.size() > Plan::kMostCompetitors) {
    throw Agreed<UsageError>("sweep: more than 512 variants of one size; ask for fewer");
  }
  MakeTimed();
  while (true) {
    Plan plan;
    if (context_.session->rank() == 0) plan = MakePlan();
    context_.session->Broadcast(std::as_writable_bytes(std::span(&plan, 1)), 0);
    for (std::size_t i = 0; i < competitors_.size(); ++i) {
      competitors_[i].active = plan.active[i] != 0;
    }
    if (plan.rounds == 0) return plan.interrupted == 0;
    const std::vector<int> order = NextOrder(plan.rounds);
    std::vector<double> walls;
    const std::vector<Sample> samples = context_.timer->Run(timed_, order, &walls);
    last_batch_rounds_ = plan.rounds;
    last_batch_seconds_ = 0;
    for (const double wall : walls) last_batch_seconds_ += wall;
    if (context_.session->rank() == 0) {
      Absorb(order, samples, walls);
      Decide();
    }
  }
}

void CellRunner::Absorb(std::span<const int> order, std::span<const Sample> samples,
                        std::span<const double> walls) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    Competitor& c = competitors_[order[i]];
    c.wall_seconds += walls[i];
    if (c.warming) {
      c.warm_times_us.push_back(samples[i].time_us);
      const auto& warmups = context_.options->warmups;
      if (warmups) {
        if (c.warm_times_us.size() < *warmups) continue;
        // With -w 0 this sample already counts.
        c.warming = false;
        if (*warmups > 0) continue;
      } else {
        const WarmUpRule rule{.clock_tick = kClockTickUs};
        c.warming = !rule.Settled(c.warm_times_us) &&
                    c.wall_seconds < kWarmShare * context_.options->row_budget_seconds;
        continue;
      }
    }
    if (c.times_us.size() == context_.options->iterations.value_or(~std::uint64_t{0})) continue;
    SampleRow sample;
    sample.sample = static_cast<std::int64_t>(c.times_us.size());
    sample.order = next_place_ + static_cast<std::int64_t>(i);
    sample.time_us = samples[i].time_us;
    sample.slowest_rank = samples[i].slowest_rank;
    c.samples.push_back(sample);
    c.times_us.push_back(samples[i].time_us);
    c.skews_ns.push_back(samples[i].entry_skew_ns);
  }
  next_place_ += static_cast<std::int64_t>(order.size());
}

// Ends the rows that have what they need.
void CellRunner::Decide() {
  for (Competitor& c : competitors_) {
    if (!c.active || c.bound_bytes > 0 || c.times_us.empty()) continue;
    if (context_.options->iterations) {
      c.active = c.times_us.size() < *context_.options->iterations;
      continue;
    }
    const StoppingRule rule{.clock_tick = kClockTickUs,
                            .budget_seconds = context_.options->row_budget_seconds};
    const StopReason stop = rule.Check(c.times_us, c.wall_seconds);
    c.row.converged = stop == StopReason::kConverged;
    c.active = stop == StopReason::kContinue || c.times_us.size() < kLeastSamples;
  }
}

void CellRunner::FinishRow(Competitor& c) const {
  SweepRow& row = c.row;
  if (c.times_us.empty()) {
    if (row.status == Status::kOk) {
      row.status = Status::kSkipped;
      row.reason = "interrupted before the first sample";
    }
    return;
  }
  const Summary summary = Summarize(c.times_us);
  row.samples = summary.samples;
  row.time_us_median = summary.median;
  if (summary.ci_confident) {  // fewer than 6 samples have no 95 % interval
    row.time_us_ci_low = summary.ci_low;
    row.time_us_ci_high = summary.ci_high;
  }
  row.time_us_min = summary.min;
  row.time_us_mean = summary.mean;
  row.time_us_p95 = summary.p95;
  row.time_us_p99 = summary.p99;
  row.entry_skew_ns = Median(c.skews_ns);
  std::vector<int> counts(cell_.ranks, 0);
  for (const SampleRow& sample : c.samples) ++counts[sample.slowest_rank.value_or(0)];
  row.slowest_rank = std::max_element(counts.begin(), counts.end()) - counts.begin();
  if (row.size_bytes == 0 || summary.median <= 0) return;
  row.algbw_GBps = static_cast<double>(row.size_bytes) / summary.median / 1e3;
  const std::optional<double> factor = BusFactor(cell_.collective, cell_.ranks);
  if (factor) row.busbw_GBps = *row.algbw_GBps * *factor;
}

void CellRunner::EmitRows() {
  const auto is_row = [](const Competitor& c) { return c.bound_bytes == 0; };
  const auto rows_end = std::find_if_not(competitors_.begin(), competitors_.end(), is_row);
  const std::span<Competitor> passes(rows_end, competitors_.end());
  const std::uint64_t required = RequiredBytes(LayoutOf(cell_), cell_.in_place);
  std::int64_t order = 0;
  for (auto c = competitors_.begin(); c != rows_end; ++c) {
    FinishRow(*c);
    c->row.order = order++;
    if (!passes.empty() && !passes[0].times_us.empty() && c->row.busbw_GBps) {
      c->row.bound_GBps = BoundBusbw(c->row, required, passes);
      c->row.bound_fraction = *c->row.busbw_GBps / *c->row.bound_GBps;
      if (*c->row.bound_fraction > 1.05 && c->row.status == Status::kOk) {
        c->row.status = Status::kFailed;
        c->row.reason = "faster than memory: bound_fraction above 1.05";
      }
    }
    emit_(c->row, c->samples);
  }
}

}  // namespace hockney
