#pragma once

#include <csignal>

namespace hockney {

// While one lives, the first SIGINT or SIGTERM sets a flag instead of ending the process, so that
// what was measured can be kept; one that comes half a second later or more ends the process as
// usual. Launchers and timeout(1) send the same signal to a process and to its group, which is one
// wish. One at a time, made before ranks start.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();  // restores what was there before

  // Returns the number of the signal that came, 0 if none did. Any thread may ask.
  static int Signal();

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

}  // namespace hockney
