#pragma once

#include <chrono>

namespace hockney {

// The point in time at which a wait gives up, on the monotonic clock.
class Deadline {
 public:
  // `seconds` from now; values beyond three years count as three years, so that no sum overflows.
  explicit Deadline(double seconds);

  bool passed() const;
  // Milliseconds left, rounded up, at most `most`, never negative: a time-out for poll(2).
  int PollMilliseconds(int most) const;
  std::chrono::steady_clock::time_point time() const { return time_; }

 private:
  std::chrono::steady_clock::time_point time_;
};

}  // namespace hockney
