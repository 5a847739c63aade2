#pragma once

#include <chrono>
#include <string>

#include "tuner/training/step_graph.h"

namespace hockney {

using StepClock = std::chrono::steady_clock;

// What does the computing of a step. One node at a time, in order, by one thread.
class Computer {
 public:
  virtual ~Computer() = default;
  // A step begins.
  virtual void Start(StepClock::time_point now) = 0;
  // Does the node, which may begin at `ready`, when what it waits for was done. Returns when it was
  // done: by the clock of the accelerator, which may be earlier than now.
  virtual StepClock::time_point Run(const StepNode& node, StepClock::time_point ready) = 0;
  // For reports: "emulated", "OpenBLAS 0.3.21, 1 thread".
  virtual std::string Describe() const = 0;
};

// An accelerator that is busy as long as its nodes take, and leaves the processor alone meanwhile.
// It works its queue off without a break: a thread that wakes up late does not make the next node
// late, as it would not on a device.
class EmulatedComputer : public Computer {
 public:
  void Start(StepClock::time_point now) override;
  StepClock::time_point Run(const StepNode& node, StepClock::time_point ready) override;
  std::string Describe() const override { return "emulated"; }

 private:
  StepClock::time_point free_at_;
};

}  // namespace hockney
