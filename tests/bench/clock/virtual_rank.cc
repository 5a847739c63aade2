#include "tests/bench/clock/virtual_rank.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hockney::testing {
namespace {

constexpr std::int64_t kReadNs = 20;   // to read a clock
constexpr std::int64_t kCallNs = 500;  // to send or take a message

}  // namespace

std::int64_t Distortion::ToLocal(std::int64_t true_ns) const {
  double local = static_cast<double>(true_ns) * drift;
  if (kink_ns > 0 && true_ns > kink_ns) {
    local += static_cast<double>(true_ns - kink_ns) * drift_after;
  }
  return true_ns + offset_ns + std::llround(local);
}

std::int64_t Distortion::ToTrue(std::int64_t local_ns) const {
  const auto since = static_cast<double>(local_ns - offset_ns);
  return local_ns - offset_ns - std::llround(since * drift / (1 + drift));
}

Distortion DistortionOf(int rank) {
  const int sign = rank % 2 == 0 ? 1 : -1;
  return {.offset_ns = sign * 5'000'000 * (rank + 1), .drift = sign * 50e-6 / (1 + rank)};
}

VirtualNetwork::Pipe& VirtualNetwork::PipeOf(int from, int to) {
  const auto [place, is_new] = pipes_.try_emplace({from, to});
  if (is_new) place->second.random.seed(options_.seed * 10007 + from * 101 + to);
  return place->second;
}

void VirtualNetwork::Send(int from, int to, std::int64_t now_ns, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  Pipe& pipe = PipeOf(from, to);
  // The library's distributions differ between libraries; this gives the same everywhere.
  const double uniform = (static_cast<double>(pipe.random() >> 11) + 0.5) * 0x1p-53;
  const double way = options_.latency_ns * (1 + (from < to ? 1 : -1) * options_.asymmetry) -
                     std::log(uniform) * options_.jitter_ns;
  pipe.last_arrival_ns = std::max<std::int64_t>(pipe.last_arrival_ns, now_ns + std::llround(way));
  pipe.messages.emplace_back(pipe.last_arrival_ns, std::vector(bytes.begin(), bytes.end()));
  changed_.notify_all();
}

std::int64_t VirtualNetwork::Receive(int from, int to, std::span<std::byte> bytes) {
  std::unique_lock lock(mutex_);
  Pipe& pipe = PipeOf(from, to);
  changed_.wait(lock, [&] { return !pipe.messages.empty(); });
  const auto [arrival_ns, message] = std::move(pipe.messages.front());
  pipe.messages.pop_front();
  std::copy(message.begin(), message.end(), bytes.begin());
  return arrival_ns;
}

void VirtualRank::Meet(Session& session) {
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(&true_ns_, 1)))) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, bytes.data(), sizeof theirs);
    true_ns_ = std::max(true_ns_, theirs);
  }
}

std::int64_t VirtualRank::NowNs() {
  Advance(kReadNs);
  return distortion_.ToLocal(true_ns_);
}

void VirtualRank::WaitUntil(std::int64_t local_ns) {
  // Iterates, for the rate after the kink is another one.
  for (std::int64_t left = 1; left > 0;) {
    left = local_ns - distortion_.ToLocal(true_ns_);
    Advance(std::max<std::int64_t>(left, 0));
  }
}

void VirtualRank::Send(int peer, std::span<const std::byte> bytes) {
  Advance(kCallNs);
  network_.Send(rank_, peer, true_ns_, bytes);
}

void VirtualRank::Receive(int peer, std::span<std::byte> bytes) {
  true_ns_ = std::max(true_ns_, network_.Receive(peer, rank_, bytes));
  Advance(kCallNs);
}

}  // namespace hockney::testing
