#pragma once

#include <atomic>
#include <cstdint>

#include "collectives/executors/connection.h"
#include "collectives/host_device.h"

namespace hockney {

// Packet flags count messages modulo 2^31, from 1: never 0, which is what clean packets hold.
inline constexpr std::uint64_t kPacketFlagPeriod = std::uint64_t{1} << 31;
inline constexpr std::uint64_t kPacketDataMask = 0xffffffff;

// The flag of a message in its place above the data.
HOCKNEY_HOST_DEVICE constexpr std::uint64_t PacketFlag(std::uint64_t message) {
  return ((message & (kPacketFlagPeriod - 1)) + 1) << 32;
}

// Whether the reader of this message cleans its slot while it owns it: before the flags start again
// every slot is cleaned once.
HOCKNEY_HOST_DEVICE constexpr bool MustCleanPackets(std::uint64_t message, std::uint64_t slots) {
  return (message & (kPacketFlagPeriod - 1)) >= kPacketFlagPeriod - slots;
}

// What both ends of a connection do with its counters, on any machine. Access is how the machine
// reaches them:
//   std::uint64_t Acquire(const std::atomic<std::uint64_t>&);
//   void Release(std::atomic<std::uint64_t>&, std::uint64_t);
//   std::uint64_t Load(const std::atomic<std::uint64_t>&);  (relaxed)
//   void Store(std::atomic<std::uint64_t>&, std::uint64_t);  (relaxed)
// and the same two for std::uint32_t. One thread of a rank calls these for a connection.
template <class Access>
struct ConnectionProtocol {
  HOCKNEY_HOST_DEVICE static bool TokenReady(Connection& c) {
    if (c.tokens.seen_sent != c.tokens.read) return true;
    c.tokens.seen_sent = Access::Acquire(c.here->tokens.value);  // pairs with GiveToken
    return c.tokens.seen_sent != c.tokens.read;
  }
  HOCKNEY_HOST_DEVICE static void TakeToken(Connection& c) { ++c.tokens.read; }
  HOCKNEY_HOST_DEVICE static void GiveToken(Connection& c) {
    Access::Release(c.there->tokens.value, ++c.tokens.sent);
  }

  // Of plain messages; packets carry their own flags.
  HOCKNEY_HOST_DEVICE static bool MessageReady(Connection& c) {
    if (c.slots.seen_sent != c.slots.read) return true;
    c.slots.seen_sent = Access::Acquire(c.here->slot_messages.value);  // pairs with Sent
    return c.slots.seen_sent != c.slots.read;
  }
  HOCKNEY_HOST_DEVICE static void SetMessageBytes(Connection& c, std::size_t slot,
                                                  std::uint32_t bytes) {
    Access::Store(c.there->slot_messages.message_bytes[slot], bytes);
  }
  HOCKNEY_HOST_DEVICE static std::uint32_t MessageBytes(const Connection& c, std::size_t slot) {
    return Access::Load(c.here->slot_messages.message_bytes[slot]);
  }
  HOCKNEY_HOST_DEVICE static void Sent(Connection& c) {
    Access::Release(c.there->slot_messages.value, ++c.slots.sent);
  }

  // Whether one of `slots` is free for the next message.
  HOCKNEY_HOST_DEVICE static bool CreditReady(Connection& c, bool packets, std::uint64_t slots) {
    Connection::Counts& counts = packets ? c.packets : c.slots;
    if (counts.sent - counts.seen_read < slots) return true;
    // Pairs with Consumed.
    counts.seen_read =
        Access::Acquire(packets ? c.here->packet_credits.value : c.here->slot_credits.value);
    return counts.sent - counts.seen_read < slots;
  }
  HOCKNEY_HOST_DEVICE static void Consumed(Connection& c, bool packets) {
    if (packets) {
      Access::Release(c.there->packet_credits.value, ++c.packets.read);
    } else {
      Access::Release(c.there->slot_credits.value, ++c.slots.read);
    }
  }
};

// Access of the host.
struct HostAccess {
  static std::uint64_t Acquire(const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_acquire);
  }
  static void Release(std::atomic<std::uint64_t>& value, std::uint64_t next) {
    value.store(next, std::memory_order_release);
  }
  template <class T>
  static T Load(const std::atomic<T>& value) {
    return value.load(std::memory_order_relaxed);
  }
  template <class T>
  static void Store(std::atomic<T>& value, T next) {
    value.store(next, std::memory_order_relaxed);
  }
};

}  // namespace hockney
