#include "bench/clock/local_clock.h"

#include <sched.h>

#include "bench/tick.h"

namespace hockney {
namespace {

// Below this the wait spins, because a yield may come back late; above it ranks that share a core
// let each other through.
constexpr std::int64_t kSpinNs = 200'000;

}  // namespace

std::int64_t SteadyClock::NowNs() { return hockney::NowNs(); }

void SteadyClock::WaitUntil(std::int64_t local_ns) {
  while (local_ns - hockney::NowNs() > kSpinNs) sched_yield();
  while (hockney::NowNs() < local_ns) {
  }
}

}  // namespace hockney
