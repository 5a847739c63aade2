#include "bench/training/compute.h"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>

namespace hockney {

void EmulatedComputer::Start(StepClock::time_point now) {
  // Linux lets sleeps last 50 us longer than asked for otherwise, which every collective behind one
  // would wait for.
  prctl(PR_SET_TIMERSLACK, 1UL);
  free_at_ = now;
}

StepClock::time_point EmulatedComputer::Run(const StepNode& node, StepClock::time_point ready) {
  const auto busy =
      std::chrono::duration_cast<StepClock::duration>(std::chrono::duration<double>(node.seconds));
  free_at_ = std::max(free_at_, ready) + busy;
  std::this_thread::sleep_until(free_at_);
  return free_at_;
}

}  // namespace hockney
