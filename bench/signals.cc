#include "bench/signals.h"

#include <atomic>

namespace hockney {
namespace {

// A handler gets no pointer, so what it writes must be static. Constant initialisation leaves no
// guard variable behind, and a lock-free atomic may be written in a handler and read by threads.
std::atomic<int>& Flag() {
  static constinit std::atomic<int> flag = 0;
  static_assert(std::atomic<int>::is_always_lock_free);
  return flag;
}

void Remember(int signal) { Flag().store(signal, std::memory_order_relaxed); }

}  // namespace

InterruptGuard::InterruptGuard() {
  Flag().store(0, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

int InterruptGuard::Signal() { return Flag().load(std::memory_order_relaxed); }

}  // namespace hockney
