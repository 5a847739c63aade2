#include "bench/clock/socket_clock_link.h"

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>

#include <stdexcept>
#include <utility>

#include "bench/tick.h"
#include "topology/check.h"
#include "topology/deadline.h"

namespace hockney {
namespace {

// How long a message is awaited without sleeping: to be woken takes longer than a round trip.
constexpr std::int64_t kAwakeNs = 300'000;

void AwaitAwake(const FileDescriptor& link) {
  const std::int64_t end = NowNs() + kAwakeNs;
  pollfd wait{link.get(), POLLIN, 0};
  while (poll(&wait, 1, 0) == 0 && NowNs() < end) sched_yield();
}

}  // namespace

SocketClockLink::SocketClockLink(int rank, std::vector<FileDescriptor> links,
                                 double timeout_seconds)
    : rank_(rank), links_(std::move(links)), timeout_seconds_(timeout_seconds) {}

const FileDescriptor& SocketClockLink::LinkTo(int peer) const {
  if (peer < 0 || peer >= static_cast<int>(links_.size()) || !links_[peer].valid()) {
    throw std::invalid_argument(fmt::format("rank {} has no clock link to rank {}", rank_, peer));
  }
  return links_[peer];
}

void SocketClockLink::Send(int peer, std::span<const std::byte> bytes) {
  Require(SendAll(LinkTo(peer), bytes, Deadline(timeout_seconds_)), peer);
}

void SocketClockLink::Receive(int peer, std::span<std::byte> bytes) {
  AwaitAwake(LinkTo(peer));
  Require(ReceiveAll(LinkTo(peer), bytes, Deadline(timeout_seconds_)), peer);
}

void SocketClockLink::Require(LinkResult result, int peer) const {
  if (result == LinkResult::kClosed) {
    throw TimeoutError(
        fmt::format("rank {} lost rank {} while they compared their clocks", rank_, peer));
  }
  if (result == LinkResult::kTimedOut) {
    throw TimeoutError(fmt::format("rank {} waited {} s for rank {} to compare their clocks", rank_,
                                   timeout_seconds_, peer));
  }
}

}  // namespace hockney
