#include "bench/training/exchange.h"

#include <algorithm>

namespace hockney {

void Exchange::Run(std::span<const float> from, std::span<float> to) const {
  if (call == nullptr) {
    if (from.data() != to.data()) std::ranges::copy(from, to.begin());
    return;
  }
  std::ranges::copy(from, input.begin());
  if (watchdog != nullptr) watchdog->Arm("a collective of the training");
  call->Run();
  if (watchdog != nullptr) watchdog->Disarm();
  std::ranges::copy(output, to.begin());
}

}  // namespace hockney
