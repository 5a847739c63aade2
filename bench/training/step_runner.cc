#include "bench/training/step_runner.h"

#include <algorithm>
#include <utility>

namespace hockney {
namespace {

double Seconds(StepClock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// What a thread throws that was waiting for one that had failed.
struct OtherThreadFailed {};

}  // namespace

StepRunner::StepRunner(const StepGraph& graph, std::vector<NodeCall> calls, Computer& computer,
                       Watchdog* watchdog)
    : graph_(graph),
      calls_(std::move(calls)),
      computer_(computer),
      watchdog_(watchdog),
      done_(graph.nodes.size()),
      ends_(graph.nodes.size()),
      times_(graph.nodes.size()),
      thread_([this] { CommunicateForever(); }) {}

StepRunner::~StepRunner() {
  ends_thread_ = true;
  begins_.release();
}

StepClock::time_point StepRunner::WaitFor(const StepNode& node) {
  StepClock::time_point ready = start_;
  for (const int before : node.after) {
    std::atomic<std::uint32_t>& done = done_[before];
    for (std::uint32_t seen = done.load(std::memory_order_acquire); seen != step_;
         seen = done.load(std::memory_order_acquire)) {
      if (failed_) throw OtherThreadFailed();
      done.wait(seen, std::memory_order_acquire);
    }
    ready = std::max(ready, ends_[before]);
  }
  if (failed_) throw OtherThreadFailed();
  return ready;
}

void StepRunner::Finish(std::size_t node, StepClock::time_point begin, StepClock::time_point end) {
  times_[node] = {Seconds(begin - start_), Seconds(end - start_)};
  ends_[node] = end;
  done_[node].store(step_, std::memory_order_release);
  done_[node].notify_all();
}

// Lets whoever waits look at failed_: every node counts as done.
void StepRunner::Fail() {
  failed_ = true;
  for (std::atomic<std::uint32_t>& done : done_) {
    done.store(step_, std::memory_order_release);
    done.notify_all();
  }
}

void StepRunner::Compute() {
  computer_.Start(start_);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const StepNode& node = graph_.nodes[i];
    if (node.kind != StepKind::kCompute) continue;
    const StepClock::time_point ready = WaitFor(node);
    const StepClock::time_point end =
        part_ == StepPart::kCommunication ? ready : computer_.Run(node, ready);
    Finish(i, ready, end);
  }
}

void StepRunner::Communicate() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const StepNode& node = graph_.nodes[i];
    if (node.kind != StepKind::kCollective) continue;
    const StepClock::time_point ready = WaitFor(node);
    Prepared* const call = part_ == StepPart::kComputing ? calls_[i].signal : calls_[i].call;
    if (call == nullptr) {
      Finish(i, ready, ready);
      continue;
    }
    const StepClock::time_point begin = StepClock::now();
    RunCall(*call);
    Finish(i, begin, StepClock::now());
  }
}

void StepRunner::RunCall(Prepared& call) {
  if (watchdog_ != nullptr) watchdog_->Arm("a collective of the step");
  call.Run();
  if (watchdog_ != nullptr) watchdog_->Disarm();
}

void StepRunner::CommunicateForever() {
  while (true) {
    begins_.acquire();
    if (ends_thread_) return;
    try {
      Communicate();
    } catch (const OtherThreadFailed&) {  // which says why
    } catch (...) {
      error_ = std::current_exception();
      Fail();
    }
    finished_.release();
  }
}

double StepRunner::Run(StepPart part) {
  part_ = part;
  ++step_;
  start_ = StepClock::now();
  begins_.release();
  std::exception_ptr error;
  try {
    Compute();
  } catch (const OtherThreadFailed&) {
  } catch (...) {
    error = std::current_exception();
    Fail();
  }
  finished_.acquire();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  if (error) std::rethrow_exception(error);
  double seconds = 0;
  for (const NodeTime& time : times_) seconds = std::max(seconds, time.end);
  return seconds;
}

}  // namespace hockney
