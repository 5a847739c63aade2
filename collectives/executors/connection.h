#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hockney {

inline constexpr int kMaxSlots = 8;  // a power of two; their lengths share a line with the counter

// A counter that one rank writes and one rank polls, on lines of its own. Beside it lie the lengths
// of the messages it announces.
struct alignas(128) SharedCounter {
  std::atomic<std::uint64_t> value{0};
  std::atomic<std::uint32_t> message_bytes[kMaxSlots]{};
};
static_assert(sizeof(SharedCounter) == 128 && std::atomic<std::uint64_t>::is_always_lock_free);

// The counters of one connection end, in the memory of the rank that polls them.
struct ConnectionCounters {
  SharedCounter tokens;         // given by the peer
  SharedCounter slot_messages;  // sent by the peer
  SharedCounter slot_credits;   // messages to the peer that it has read
  SharedCounter packet_credits;
};

// Lets all counters begin at `count`.
inline void StartCounters(ConnectionCounters& counters, std::uint64_t count) {
  for (SharedCounter* counter : {&counters.tokens, &counters.slot_messages, &counters.slot_credits,
                                 &counters.packet_credits}) {
    counter->value.store(count, std::memory_order_relaxed);
  }
}

class RemoteEnd;

// Both ends of the connections between this rank and one peer on one lane, and how far they got.
// The counts run on over all calls. With a peer on another host all memory is this rank's own:
// `remote` sends what goes into the outbox and fills the inbox and the counters; packets, which are
// a matter of shared memory, then go as plain messages.
struct Connection {
  ConnectionCounters* here = nullptr;   // polled by this rank
  ConnectionCounters* there = nullptr;  // polled by the peer; null if that is on another host
  std::byte* inbox = nullptr;           // slots in this rank's memory, written by the peer
  std::byte* outbox = nullptr;          // slots in the peer's memory
  std::atomic<std::uint64_t>* packet_inbox = nullptr;
  std::atomic<std::uint64_t>* packet_outbox = nullptr;
  RemoteEnd* remote = nullptr;  // null: on this host
  // A device's, with a peer on another host: the other side here is a proxy, and packets go as
  // plain messages.
  bool by_proxy = false;
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t read = 0;
    std::uint64_t seen_sent = 0;  // last polled values
    std::uint64_t seen_read = 0;
  };
  Counts slots;
  Counts packets;
  Counts tokens;
};

}  // namespace hockney
