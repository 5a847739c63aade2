#include "bench/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/bound.h"
#include "bench/cell_buffers.h"
#include "bench/correctness.h"
#include "bench/device/device_competitors.h"
#include "bench/device/mirrored_call.h"
#include "bench/groups/cell_groups.h"
#include "bench/options.h"
#include "bench/row_statistics.h"
#include "topology/check.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr const char* kMpiName = "an MPI collective";  // for the watchdog

bool IsMpi(const Competitor& competitor) { return competitor.row.implementation == "mpi"; }

// How ranks can start at an agreed time.
std::optional<Start> AgreedStart(const SweepContext& context) {
  if (context.clock == ClockKind::kHca3) return Start::kRoundTime;
  if (context.groups->is_split()) return std::nullopt;  // each would choose for itself
  if (context.device != nullptr) return std::nullopt;   // it has a barrier of its own
  if (context.line_probe != nullptr) return Start::kTick;
  return std::nullopt;
}

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

CellRunner::CellRunner(const SweepContext& context, const Cell& cell, std::size_t number, Emit emit)
    : context_(context),
      options_(*context.options),
      cell_(cell),
      emit_(std::move(emit)),
      // Another order for every cell, the same on all ranks.
      schedule_(options_, competitors_,
                options_.seed + number * 11 + static_cast<std::uint64_t>(cell.collective),
                AgreedStart(context)) {}

// The labels of the competitors end with them.
CellRunner::~CellRunner() { context_.watchdog->EndActivity("the step to the next size"); }

void CellRunner::PlaceBuffers() {
  const Layout layout = LayoutOf(cell_);
  const BufferPlan plan = PlanBuffers(options_, cell_, context_.llc.bytes);
  for (int s = 0; s < plan.sets; ++s) {
    sets_.emplace_back(layout, context_.session->rank(), cell_.in_place,
                       context_.domain->arena().subspan(s * plan.set_bytes + plan.shift_bytes,
                                                        plan.set_bytes - plan.shift_bytes));
  }
  if (options_.calls) schedule_.CountCalls(static_cast<std::uint64_t>(plan.calls));
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
  context_.watchdog->EndActivity("the agreement of groups");  // labels may move
  AddGraphs();
  AgreeOnCompetitors(*context_.groups, competitors_);
  AddBoundPasses();
  schedule_.Begin();
  const bool finished = TimeAll();
  if (context_.session->rank() == 0) FinishRows();
  CollectCompetitors(*context_.groups, competitors_, emit_);
  return finished;
}

CheckResult CellRunner::Check(Prepared& prepared, std::uint64_t seed) const {
  const Call call = MakeCall(cell_, sets_[0]);
  if (context_.device == nullptr) {
    return CheckData(*context_.session, prepared, call, sets_[0], seed);
  }
  MirroredCall mirrored(*context_.device, sets_[0], prepared);
  return CheckData(*context_.session, mirrored, call, sets_[0], seed);
}

void CellRunner::CheckAll() {
  for (std::size_t i = 0; i < competitors_.size(); ++i) {
    Competitor& c = competitors_[i];
    if (c.prepared.empty()) continue;
    context_.watchdog->SetActivity(c.label.c_str());
    for (int check = 0; check < options_.checks; ++check) {
      const std::uint64_t seed = options_.seed * 1000003 + i * 101 + check;
      if (c.before) c.before();
      if (IsMpi(c)) context_.watchdog->Arm(kMpiName);
      const CheckResult result = Check(*c.prepared[0], seed);
      if (IsMpi(c)) context_.watchdog->Disarm();
      c.row.errors = c.row.errors.value_or(0) + result.errors;
      if (result.errors == 0) continue;
      c.row.status = Status::kWrongData;
      c.row.reason = result.reason;
      c.active = false;
    }
  }
}

// A group that waits for others cannot tell which of its calls are short.
void CellRunner::AddGraphs() {
  if (context_.device == nullptr) return;
  if (context_.groups->is_split() && !options_.graph_calls) return;
  context_.watchdog->SetActivity("the trial of calls");
  for (Competitor& graph : MakeGraphCompetitors(context_, competitors_)) {
    graph.active = true;
    competitors_.push_back(std::move(graph));
  }
  context_.watchdog->EndActivity("the agreement of groups");
}

// Only where the buffers do not fit the caches: there a collective cannot be faster than memory.
// Groups share memory, so the passes of one would say nothing.
void CellRunner::AddBoundPasses() {
  if (context_.hosts > 1 || context_.groups->is_split()) return;
  const Layout layout = LayoutOf(cell_);
  std::size_t together = 0;
  std::size_t room = 0;
  for (int r = 0; r < cell_.ranks; ++r) {
    const std::size_t bytes = BufferSet::Bytes(layout, r, cell_.in_place);
    together += bytes;
    room = std::max(room, bytes);
  }
  if (together < 2 * context_.llc.bytes || sets_.size() > 1 || options_.chooses_one) return;
  for (Competitor& pass : MakePasses(room)) {
    pass.active = true;
    pass.warming = false;  // the data checks have touched every page
    pass.label = "the passes over memory that bound the rows";
    competitors_.push_back(std::move(pass));
  }
}

std::vector<Competitor> CellRunner::MakePasses(std::size_t room) const {
  if (context_.device != nullptr) return MakeDeviceBoundPasses(context_, room);
  std::vector<std::span<std::byte>> rooms;
  rooms.reserve(cell_.ranks);
  for (int r = 0; r < cell_.ranks; ++r) rooms.push_back(context_.domain->ArenaOf(r).first(room));
  return MakeBoundPasses(rooms, context_.session->rank());
}

// What lies between two samples.
void CellRunner::Prepare(const BufferSet& set) const {
  if (options_.buffers == BufferState::kHot) return;
  if (context_.device != nullptr) return context_.device->Refresh(set);
  set.Refresh();
}

Timed CellRunner::MakeTimed(Competitor& c) {
  Timed timed{.label = c.label.c_str(),
              .blocking = IsMpi(c) ? kMpiName : nullptr,
              .times_calls = options_.times_calls};
  // The passes of the bound find memory in the same state as the rows they bound.
  timed.before = [this, &c] {
    if (c.before) c.before();
    for (const BufferSet& set : sets_) Prepare(set);
    if (context_.flusher != nullptr) context_.flusher->Flush();
    if (context_.device != nullptr && options_.buffers == BufferState::kCold) {
      context_.device->FlushCache();
    }
  };
  if (!c.on_device.empty()) timed.own_clock = [this, &c] { return TimeOnDevice(context_, c); };
  if (c.graph_calls > 0) {
    timed.calls.assign(static_cast<std::size_t>(c.graph_calls), c.prepared[0].get());
    return timed;
  }
  for (const auto& prepared : c.prepared) {
    timed.calls.push_back(prepared.get());
    if (!options_.barrier_after_call) continue;
    wrapped_.push_back(std::make_unique<WithBarrier>(*prepared, *context_.barrier));
    timed.calls.back() = wrapped_.back().get();
  }
  return timed;
}

bool CellRunner::TimeAll() {
  if (competitors_.size() > CellSchedule::Plan::kMostCompetitors) {
    throw Agreed<UsageError>("sweep: more than 512 variants of one size; ask for fewer");
  }
  for (Competitor& c : competitors_) timed_.push_back(MakeTimed(c));
  ProbeLine();
  CellSchedule::Plan plan;
  while (true) {
    if (context_.session->rank() == 0) plan = schedule_.MakePlan(context_.timer->interrupted());
    plan = AgreeOnPlan(*context_.groups, plan);
    const std::vector<int> order = schedule_.Follow(plan);
    if (plan.rounds == 0) break;
    std::vector<double> walls;
    const std::vector<Sample> samples = context_.timer->Run(timed_, order, plan.start, &walls);
    if (context_.session->rank() == 0) schedule_.Take(order, samples, walls);
  }
  ProbeLine();
  return plan.interrupted == 0;
}

void CellRunner::ProbeLine() {
  if (context_.line_probe == nullptr) return;
  line_transfers_ns_.push_back(context_.line_probe->Measure());
}

// Nothing is faster than memory; but where the size of the caches is only assumed, a row that seems
// to be shows that they hold more.
void CellRunner::SetBound(SweepRow& row, double busbw) const {
  constexpr double kMostFraction = 1.05;
  row.bound_GBps = busbw;
  row.bound_fraction = *row.busbw_GBps / busbw;
  if (*row.bound_fraction <= kMostFraction || row.status != Status::kOk) return;
  if (context_.hosts > 1 || !context_.llc.is_assumed()) {
    row.status = Status::kFailed;
    row.reason = fmt::format("faster than {}: bound_fraction above 1.05",
                             context_.hosts > 1 ? "the links between hosts" : "memory");
    return;
  }
  row.reason =
      fmt::format("no bound: {:.2f} of it, so the caches hold more than the {} MiB assumed (--llc)",
                  *row.bound_fraction, context_.llc.bytes >> 20);
  row.bound_GBps.reset();
  row.bound_fraction.reset();
}

// What the links between hosts let through.
void CellRunner::SetShaping(SweepRow& row) const {
  if (!context_.shaping || context_.hosts == 1 || !row.busbw_GBps) return;
  const bool streamed = row.mode == "streamed";
  const std::uint64_t calls = streamed ? sets_.size() : 1;
  const std::uint64_t bytes = row.size_bytes * calls;
  row.burst_limited = IsBurstLimited(*context_.shaping, bytes, streamed);
  const auto bound =
      NetworkBoundBusbw(row.collective, cell_.ranks, context_.hosts, context_.shaping->goodput_Bps);
  // What a burst carries is faster than the link.
  if (bound && !IsBurstLimited(*context_.shaping, bytes, false)) SetBound(row, *bound);
}

void CellRunner::FinishRows() {
  const auto rows_end = std::find_if_not(competitors_.begin(), competitors_.end(), IsRow);
  const std::span<Competitor> passes(rows_end, competitors_.end());
  const std::uint64_t required = RequiredBytes(LayoutOf(cell_), cell_.in_place);
  std::int64_t order = 0;
  schedule_.SettleClock();
  for (auto c = competitors_.begin(); c != rows_end; ++c) {
    FinishRow(*c, cell_.ranks);
    c->row.order = order++;
    if (!line_transfers_ns_.empty()) c->row.c2c_ns = Mean(line_transfers_ns_);
    if (!passes.empty() && !passes[0].times_us.empty() && c->row.busbw_GBps) {
      SetBound(c->row, BoundBusbw(c->row, required, passes));
    }
    SetShaping(c->row);
  }
}

}  // namespace hockney
