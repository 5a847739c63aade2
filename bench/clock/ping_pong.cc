#include "bench/clock/ping_pong.h"

#include <cstdint>
#include <span>

namespace hockney {
namespace {

constexpr int kTrips = 10;  // a point

enum class Request : std::int64_t { kTime, kEnd };

template <class T>
void Send(ClockLink& link, int peer, const T& message) {
  link.Send(peer, std::as_bytes(std::span(&message, 1)));
}

template <class T>
T Receive(ClockLink& link, int peer) {
  T message{};
  link.Receive(peer, std::as_writable_bytes(std::span(&message, 1)));
  return message;
}

}  // namespace

ClockTalk::ClockTalk(LocalClock& clock, ClockLink& link, int peer)
    : clock_(clock), link_(link), peer_(peer) {
  PingPong();
}

ClockPoint ClockTalk::PingPong() {
  const std::int64_t begin = clock_.NowNs();
  Send(link_, peer_, Request::kTime);
  const auto remote_ns = Receive<std::int64_t>(link_, peer_);
  const std::int64_t trip = clock_.NowNs() - begin;
  return {.local_ns = begin + trip / 2, .remote_ns = remote_ns, .trip_ns = trip};
}

std::vector<ClockPoint> ClockTalk::Compare(int count, std::int64_t interval_ns) {
  std::vector<ClockPoint> points;
  const std::int64_t begin = clock_.NowNs();
  for (int i = 0; i < count; ++i) {
    clock_.WaitUntil(begin + i * interval_ns);
    ClockPoint best = PingPong();
    for (int trip = 1; trip < kTrips; ++trip) {
      const ClockPoint next = PingPong();
      if (next.trip_ns < best.trip_ns) best = next;
    }
    points.push_back(best);
  }
  return points;
}

void ClockTalk::End() { Send(link_, peer_, Request::kEnd); }

void AnswerClock(LocalClock& clock, ClockLink& link, int peer) {
  while (Receive<Request>(link, peer) == Request::kTime) Send(link, peer, clock.NowNs());
}

}  // namespace hockney
