#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

#include "bench/training/compute.h"
#include "collectives/executors/executor.h"
#include "topology/watchdog.h"
#include "tuner/training/simulate_step.h"
#include "tuner/training/step_graph.h"

namespace hockney {

// Which half of a step is left out.
enum class StepPart : std::uint8_t {
  kWhole,
  kComputing,  // collectives are over at once, but that stages of a pipeline still wait for each
               // other
  kCommunication,  // computing is
};

// Runs the step of one rank: the caller's thread computes, a thread of the runner's own
// communicates, and each waits for what the graph says. Not to be used by two threads.
class StepRunner {
 public:
  // What a node calls, null where it does not; `signal` in its place where communication is left
  // out.
  struct NodeCall {
    Prepared* call = nullptr;
    Prepared* signal = nullptr;
  };

  // `calls` are of the nodes. Calls are guarded by `watchdog` if there is one. All arguments
  // outlive the runner.
  StepRunner(const StepGraph& graph, std::vector<NodeCall> calls, Computer& computer,
             Watchdog* watchdog = nullptr);
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;
  ~StepRunner();

  // Runs a step and returns its seconds on this rank. All ranks call it at the same time, after a
  // barrier. What either thread throws comes out of here, when both have ended.
  double Run(StepPart part);

  // Of the last step: seconds since its start.
  std::span<const NodeTime> times() const { return times_; }

 private:
  void Compute();
  void Communicate();
  void RunCall(Prepared& call);
  void CommunicateForever();
  // Waits for what the node needs and returns when that was done.
  StepClock::time_point WaitFor(const StepNode& node);
  void Finish(std::size_t node, StepClock::time_point begin, StepClock::time_point end);
  void Fail();

  const StepGraph& graph_;
  std::vector<NodeCall> calls_;
  Computer& computer_;
  Watchdog* watchdog_;
  StepPart part_ = StepPart::kWhole;
  std::uint32_t step_ = 0;
  StepClock::time_point start_;
  std::vector<std::atomic<std::uint32_t>> done_;  // the last step that a node was done in
  std::vector<StepClock::time_point> ends_;
  std::vector<NodeTime> times_;
  std::atomic<bool> failed_ = false;
  std::exception_ptr error_;  // of the communicating thread
  std::atomic<bool> ends_thread_ = false;
  std::binary_semaphore begins_{0};
  std::binary_semaphore finished_{0};
  std::jthread thread_;  // last: it uses the others
};

}  // namespace hockney
