#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace hockney {

// Ends the process when a call that has no deadline of its own (a blocking MPI or NCCL call) takes
// too long. One sleeping thread; it looks every 50 ms, so a process ends that much late at most.
class Watchdog {
 public:
  using LastWords = std::function<void(const std::string& cause)>;

  // When a guarded call passes `timeout_seconds` (> 0), the watchdog's thread calls `last_words`,
  // which should say the cause and save what was measured without waiting for the hung thread, and
  // ends the process with _exit(4). Throws std::invalid_argument for a timeout that is not
  // positive.
  Watchdog(double timeout_seconds, LastWords last_words, int rank);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() = default;  // does not wait for the next look

  // Around every guarded call, by one thread; two stores, no lock and no system call. `what` names
  // the call and lives as long as the process, e.g. a string literal. The time counts from the
  // watchdog's first look after Arm.
  void Arm(const char* what) {
    // Releases pair with the acquires in Watch: who sees the number sees its text, and who sees the
    // next text sees that the call before has ended.
    what_.store(what, std::memory_order_release);
    calls_.store(++armed_, std::memory_order_release);
  }
  void Disarm() { calls_.store(0, std::memory_order_release); }

 private:
  void Watch(const std::stop_token& stop);
  [[noreturn]] void End(const char* what) const;

  double timeout_seconds_;
  LastWords last_words_;
  int rank_;
  std::uint64_t armed_ = 0;              // calls so far; the guarded thread's own
  std::atomic<std::uint64_t> calls_{0};  // number of the guarded call, 0 between calls
  std::atomic<const char*> what_{""};
  std::jthread thread_;  // last: it uses the others
};

}  // namespace hockney
