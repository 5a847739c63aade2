#include "bench/signals.h"

#include <atomic>
#include <cstdint>
#include <ctime>

namespace hockney {
namespace {

// A handler gets no pointer, so what it writes must be static. Constant initialisation leaves no
// guard variable behind, and a lock-free atomic may be written in a handler and read by threads.
std::atomic<int>& Flag() {
  static constinit std::atomic<int> flag = 0;
  static_assert(std::atomic<int>::is_always_lock_free);
  return flag;
}

// When the first signal came, in nanoseconds of the monotonic clock.
std::atomic<std::int64_t>& FirstTime() {
  static constinit std::atomic<std::int64_t> time = 0;
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);
  return time;
}

// Only what a handler may call.
void Remember(int signal) {
  constexpr std::int64_t kOneWishNs = 500'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t time_ns = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  std::int64_t first_ns = 0;
  if (FirstTime().compare_exchange_strong(first_ns, time_ns, std::memory_order_relaxed)) {
    Flag().store(signal, std::memory_order_relaxed);
  } else if (time_ns - first_ns > kOneWishNs) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // taken when this handler returns
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  Flag().store(0, std::memory_order_relaxed);
  FirstTime().store(0, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = Remember;
  action.sa_flags = SA_RESTART;
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
