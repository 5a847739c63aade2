#include "bench/clock/round_start.h"

#include <algorithm>
#include <span>

namespace hockney {
namespace {

constexpr std::int64_t kLeastAheadNs = 50'000;
constexpr std::int64_t kMostAheadNs = 10'000'000;
constexpr std::int64_t kMostOvershootNs = 10'000;
// Of the starts; fewer late ones are ranks that lost their cores, which no time ahead would cure.
constexpr std::size_t kLateShare = 4;

}  // namespace

bool RoundStart::Wait() {
  std::int64_t start_ns = 0;
  if (session_.rank() == 0) start_ns = clock_.ToGlobal(clock_.LocalNowNs()) + ahead_ns_;
  session_.Broadcast(std::as_writable_bytes(std::span(&start_ns, 1)), 0);
  const std::int64_t local_ns = clock_.ToLocal(start_ns);
  if (clock_.LocalNowNs() > local_ns) return false;
  clock_.WaitUntilLocal(local_ns);
  return clock_.LocalNowNs() - local_ns < kMostOvershootNs;
}

void RoundStart::Adapt(std::size_t late, std::size_t starts) {
  ahead_ns_ = late * kLateShare > starts ? ahead_ns_ * 4 : ahead_ns_ * 9 / 10;
  ahead_ns_ = std::clamp(ahead_ns_, kLeastAheadNs, kMostAheadNs);
}

}  // namespace hockney
