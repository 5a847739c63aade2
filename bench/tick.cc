#include "bench/tick.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

#include "topology/check.h"
#include "tuner/statistics.h"

namespace hockney {

// Boards begin zeroed, which is how all of this begins.
struct TickBoard {
  struct alignas(128) {
    std::atomic<std::uint64_t> round;
    std::atomic<std::int64_t> start_ns;
  } tick;
  struct alignas(128) {
    std::atomic<std::uint64_t> throws;  // odd ones by rank 0, even ones by the board's rank
  } ball;
};

namespace {

static_assert(sizeof(TickBoard) <= HostDomain::kBoardBytes);

// A line must reach every rank before the named time has come.
constexpr std::int64_t kLeadNs = 2000;
constexpr std::int64_t kLeadPerRankNs = 100;

constexpr std::size_t kBatches = 15;
constexpr std::uint64_t kRoundTrips = 20;  // a batch

std::int64_t Nanoseconds(double seconds) {
  constexpr double kMost = 1e8;  // three years, so that sums do not overflow
  return static_cast<std::int64_t>(std::min(seconds, kMost) * 1e9);
}

TickBoard& BoardOf(const HostDomain& domain, int rank) {
  return *reinterpret_cast<TickBoard*>(domain.Board(rank).data());
}

// Spins until `ready`. Another core is about to bring that about, so yielding comes late.
template <class Ready>
void Spin(const Ready& ready, std::int64_t timeout_ns, int rank, const char* what) {
  std::int64_t deadline = 0;
  for (std::uint64_t spins = 1; !ready(); ++spins) {
    __builtin_ia32_pause();
    if (spins % 4096 != 0) continue;
    sched_yield();
    if (deadline == 0) deadline = NowNs() + timeout_ns;
    if (NowNs() < deadline) continue;
    throw TimeoutError(fmt::format("rank {} waited {} s in {}", rank,
                                   static_cast<double>(timeout_ns) / 1e9, what));
  }
}

}  // namespace

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TickStart::TickStart(HostDomain& domain, double timeout_seconds)
    : board_(BoardOf(domain, 0)),
      rank_(domain.rank()),
      lead_ns_(kLeadNs + kLeadPerRankNs * domain.ranks()),
      timeout_ns_(Nanoseconds(timeout_seconds)) {}

void TickStart::Wait() {
  ++round_;
  auto& tick = board_.tick;
  if (rank_ == 0) {
    // Everybody has read the time before: they have met in a barrier since.
    tick.start_ns.store(NowNs() + lead_ns_, std::memory_order_relaxed);
    tick.round.store(round_, std::memory_order_release);
  }
  const auto named = [&] { return tick.round.load(std::memory_order_acquire) >= round_; };
  Spin(named, timeout_ns_, rank_, "the start of a sample for rank 0");
  const std::int64_t start_ns = tick.start_ns.load(std::memory_order_relaxed);
  while (NowNs() < start_ns) {
  }
}

LineProbe::LineProbe(HostDomain& domain, double timeout_seconds)
    : domain_(domain), timeout_ns_(Nanoseconds(timeout_seconds)) {}

double LineProbe::Measure() {
  double farthest = 0;
  if (domain_.rank() != 0) Answer();
  for (int peer = 1; peer < domain_.ranks() && domain_.rank() == 0; ++peer) {
    farthest = std::max(farthest, MeasurePeer(peer));
  }
  ++measured_;
  return farthest;
}

double LineProbe::MeasurePeer(int peer) {
  auto& throws = BoardOf(domain_, peer).ball.throws;
  std::uint64_t next = measured_ * 2 * kBatches * kRoundTrips + 1;
  std::array<double, kBatches> half_trips_ns{};
  for (double& half_trip_ns : half_trips_ns) {
    const std::int64_t begin = NowNs();
    for (std::uint64_t i = 0; i < kRoundTrips; ++i, next += 2) {
      throws.store(next, std::memory_order_release);
      const auto answered = [&] { return throws.load(std::memory_order_acquire) == next + 1; };
      Spin(answered, timeout_ns_, 0, "the line probe");
    }
    half_trip_ns = static_cast<double>(NowNs() - begin) / (2 * kRoundTrips);
  }
  return Median(half_trips_ns);
}

void LineProbe::Answer() {
  auto& throws = BoardOf(domain_, domain_.rank()).ball.throws;
  std::uint64_t next = measured_ * 2 * kBatches * kRoundTrips + 1;
  for (std::uint64_t i = 0; i < kBatches * kRoundTrips; ++i, next += 2) {
    const auto thrown = [&] { return throws.load(std::memory_order_acquire) == next; };
    Spin(thrown, timeout_ns_, domain_.rank(), "the line probe for rank 0");
    throws.store(next + 1, std::memory_order_release);
  }
}

}  // namespace hockney
