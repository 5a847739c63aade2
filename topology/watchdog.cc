#include "topology/watchdog.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace hockney {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr int kTimeoutExitCode = 4;

}  // namespace

Watchdog::Watchdog(double timeout_seconds, LastWords last_words, int rank)
    : timeout_seconds_(timeout_seconds), last_words_(std::move(last_words)), rank_(rank) {
  if (!(timeout_seconds > 0)) {
    throw std::invalid_argument(
        fmt::format("watchdog: timeout {} s, expected > 0", timeout_seconds));
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
}

// The guarded thread must not read clocks, so the time counts from when a call was first seen here.
void Watchdog::Watch(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  std::uint64_t seen = 0;
  Clock::time_point since;
  while (!stop.stop_requested()) {
    const std::uint64_t call = calls_.load(std::memory_order_acquire);
    if (call != seen) {
      seen = call;
      since = Clock::now();
    } else if (call != 0 &&
               std::chrono::duration<double>(Clock::now() - since).count() > timeout_seconds_) {
      const char* what = what_.load(std::memory_order_acquire);
      // Still the same call, so `what` is its name.
      if (calls_.load(std::memory_order_acquire) == call) End(what);
    }
    stopped.wait_for(lock, stop, kLook, [] { return false; });
  }
}

void Watchdog::End(const char* what) const {
  try {
    last_words_(fmt::format("rank {} waited {} s in {}", rank_, timeout_seconds_, what));
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: last words failed: {}\n", rank_, error.what());
  }
  _exit(kTimeoutExitCode);
}

}  // namespace hockney
