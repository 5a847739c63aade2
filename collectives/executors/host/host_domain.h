#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/flow.h"
#include "collectives/memory/host_memory.h"
#include "topology/session.h"

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

// Both ends of the connections between this rank and one peer on one lane, and how far they got.
// The counts run on over all calls.
struct Connection {
  ConnectionCounters* here = nullptr;   // polled by this rank
  ConnectionCounters* there = nullptr;  // polled by the peer
  std::byte* inbox = nullptr;           // slots in this rank's memory, written by the peer
  std::byte* outbox = nullptr;          // slots in the peer's memory
  std::atomic<std::uint64_t>* packet_inbox = nullptr;
  std::atomic<std::uint64_t>* packet_outbox = nullptr;
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

// What the ranks of one host share to run programs: boards, counters, slots and an arena for the
// users' buffers, in one HostMemory.
class HostDomain {
 public:
  struct Options {
    std::size_t arena_bytes = 0;
    int lanes = 4;
    FlowLimits limits{};
    std::uint64_t first_count = 0;  // where all counters start (tests: just below their wrap)
  };

  // Collective over `session`, whose ranks share this host's memory. Throws as HostMemory::Create,
  // and std::invalid_argument for options out of range.
  HostDomain(Session& session, const Options& options);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const Options& options() const { return options_; }
  double page_kib() const { return page_kib_; }
  // This rank's part of the arena, and rank's part as mapped here.
  std::span<std::byte> arena() const { return ArenaOf(rank_); }
  std::span<std::byte> ArenaOf(int rank) const;
  Connection& At(int lane, int peer) { return connections_[lane * ranks_ + peer]; }
  // A little memory of each rank that all may use for what they agree on; zeroed at the start.
  static constexpr std::size_t kBoardBytes = 4096;
  std::span<std::byte> Board(int rank) const;
  // Words of one packet slot: a length and the data, 4 bytes a word.
  std::size_t PacketWords() const { return 1 + options_.limits.packet_slot_bytes / 4; }

 private:
  struct Place {
    std::size_t counters = 0;
    std::size_t slots = 0;
    std::size_t packets = 0;
  };
  Place FindPlace(int lane, int peer) const;
  std::size_t ControlBytes() const;

  int rank_ = 0;
  int ranks_ = 1;
  Options options_;
  double page_kib_ = 0;
  std::shared_ptr<HostMemory> memory_;
  std::vector<Connection> connections_;
};

}  // namespace hockney
