#pragma once

#include <cstdint>

namespace hockney {

// The clock of one rank, in nanoseconds from any origin. Tests pass clocks that are set wrong and
// drift, or that run in virtual time.
class LocalClock {
 public:
  LocalClock() = default;
  LocalClock(const LocalClock&) = delete;
  LocalClock& operator=(const LocalClock&) = delete;
  virtual ~LocalClock() = default;

  virtual std::int64_t NowNs() = 0;
  // Returns at once if `local_ns` has passed, else close behind it.
  virtual void WaitUntil(std::int64_t local_ns) = 0;
};

// The monotonic clock, which all ranks of a kernel read alike.
class SteadyClock : public LocalClock {
 public:
  std::int64_t NowNs() override;
  void WaitUntil(std::int64_t local_ns) override;
};

}  // namespace hockney
