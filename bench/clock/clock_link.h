#pragma once

#include <cstddef>
#include <span>

namespace hockney {

// Short messages between two ranks, as quick as may be: clocks are compared over it. Messages of
// one pair and direction arrive in order. Peers are ranks of the session.
class ClockLink {
 public:
  ClockLink() = default;
  ClockLink(const ClockLink&) = delete;
  ClockLink& operator=(const ClockLink&) = delete;
  virtual ~ClockLink() = default;

  // Both wait as long as their deadline allows, then throw TimeoutError naming `peer`; at once if
  // it is gone.
  virtual void Send(int peer, std::span<const std::byte> bytes) = 0;
  virtual void Receive(int peer, std::span<std::byte> bytes) = 0;
};

}  // namespace hockney
