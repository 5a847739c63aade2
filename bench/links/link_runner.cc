#include "bench/links/link_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace hockney {
namespace {

constexpr std::size_t kWarmUps = 2;
constexpr std::size_t kLeastSamples = 5;
constexpr double kBatchSeconds = 0.02;
constexpr int kMostRounds = 64;
// One block of a GPU moves less than a link between GPUs.
constexpr std::uint64_t kLeastSharedBytes = 64 * 1024;

// The time of the task in one sample.
double TimeOf(const LinkTask& task, const Sample& sample) {
  double slowest = 0;
  for (const auto& [first, second] : task.pairs) {
    slowest = std::max(slowest, sample.rank_us[first]);
    // Each direction has its own end.
    if (task.pattern == LinkPattern::kDuplex) slowest = std::max(slowest, sample.rank_us[second]);
  }
  return task.pattern == LinkPattern::kPingPong ? slowest / 2 : slowest;
}

}  // namespace

// What rank 0 decides between two batches; plain data.
struct LinkRunner::Plan {
  std::int32_t rounds = 1;  // 0: the task ends
  std::int32_t interrupted = 0;
  Summary summary;
};

LinkRunner::~LinkRunner() { context_.watchdog->EndActivity("the end"); }  // its label ends with it

// The call that `timed` is to time, which it outlives.
std::unique_ptr<Prepared> LinkRunner::Prepare(const LinkTask& task, Timed* timed) {
  const Session& session = *context_.session;
  const std::span<std::byte> arena = context_.domain->arena();
  const Shape shape{Collective::kSendRecv, session.ranks(), 0};
  Call call;
  call.shape = shape;
  call.type = DataType::kUint8;
  call.counts = EvenCounts(shape, TotalBytes(task));
  call.input = arena.data();
  call.output = arena.data() + most_bytes_;
  LinkProgram mine = MakeLinkProgram(task, session.rank(), session.ranks(), context_.limits());
  if (context_.device == nullptr) {
    auto prepared = context_.executor->PrepareProgram(call, std::move(mine.program), mine.flow,
                                                      StorePolicy::kCached);
    timed->calls = {prepared.get()};
    return prepared;
  }
  auto prepared = context_.device->PrepareProgram(call, mine.program, mine.flow);
  timed->calls = {prepared.get()};
  timed->own_clock = [clock = context_.device_clock, on_device = prepared.get()] {
    return clock->TimeIsolated(*on_device);
  };
  return prepared;
}

Summary LinkRunner::Measure(const LinkTask& task, double budget_seconds) {
  Session& session = *context_.session;
  context_.watchdog->SetActivity("the step to the next message");
  label_ = fmt::format("messages of {} bytes between ranks {} and {}", task.bytes,
                       task.pairs.front().first, task.pairs.front().second);
  LinkTask shared = task;
  if (context_.device != nullptr && task.bytes >= kLeastSharedBytes) shared.lanes = kMostLanes;
  std::vector<Timed> things(1);
  things[0].label = label_.c_str();
  const std::unique_ptr<Prepared> prepared = Prepare(shared, things.data());
  const StoppingRule rule{.clock_tick = 0.001, .budget_seconds = budget_seconds};
  std::vector<double> times;
  double elapsed = 0;
  Plan plan;
  std::size_t warm = 0;
  while (true) {
    session.Broadcast(std::as_writable_bytes(std::span(&plan, 1)), 0);
    interrupted_ = plan.interrupted != 0;
    if (plan.rounds == 0) break;
    std::vector<double> walls;
    const std::vector<int> order(plan.rounds, 0);
    const auto samples = context_.timer->Run(things, order, Start::kBarrier, &walls);
    if (session.rank() != 0) continue;
    double batch = 0;
    for (const double wall : walls) batch += wall;
    elapsed += batch;
    for (const Sample& sample : samples) {
      if (warm++ >= kWarmUps) times.push_back(TimeOf(task, sample));
    }
    plan.interrupted = context_.timer->interrupted() ? 1 : 0;
    const bool enough =
        times.size() >= kLeastSamples && rule.Check(times, elapsed) != StopReason::kContinue;
    const bool ends = enough || (plan.interrupted != 0 && !times.empty());
    const double round = batch / static_cast<double>(order.size());
    plan.rounds = ends ? 0 : std::clamp(static_cast<int>(kBatchSeconds / round), 1, kMostRounds);
    if (ends) plan.summary = Summarize(times);
  }
  return plan.summary;
}

}  // namespace hockney
