#include "topology/deadline.h"

#include <algorithm>

namespace hockney {

Deadline::Deadline(double seconds)
    : time_(std::chrono::steady_clock::now() +
            std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)))) {}

bool Deadline::passed() const { return std::chrono::steady_clock::now() >= time_; }

int Deadline::PollMilliseconds(int most) const {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(time_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, most));
}

}  // namespace hockney
