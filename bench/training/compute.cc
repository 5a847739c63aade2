#include "bench/training/compute.h"

#include <algorithm>
#include <thread>

namespace hockney {

StepClock::time_point EmulatedComputer::Run(const StepNode& node, StepClock::time_point ready) {
  const auto busy =
      std::chrono::duration_cast<StepClock::duration>(std::chrono::duration<double>(node.seconds));
  free_at_ = std::max(free_at_, ready) + busy;
  std::this_thread::sleep_until(free_at_);
  return free_at_;
}

}  // namespace hockney
