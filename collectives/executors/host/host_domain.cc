#include "collectives/executors/host/host_domain.h"

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>

namespace hockney {
namespace {

constexpr std::size_t kArenaAlignment = 2 * 1024 * 1024;

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

// A rank's segment: its board, counters of all (lane, peer), then their slots, then their packets,
// then the arena.
HostDomain::Place HostDomain::FindPlace(int lane, int peer) const {
  const std::size_t pairs = static_cast<std::size_t>(options_.lanes) * ranks_;
  const std::size_t index = static_cast<std::size_t>(lane) * ranks_ + peer;
  const std::size_t counters = kBoardBytes + pairs * sizeof(ConnectionCounters);
  const std::size_t slot_area = options_.limits.slots * options_.limits.slot_bytes;
  const std::size_t packet_area =
      RoundUp(options_.limits.slots * PacketWords() * sizeof(std::uint64_t), 128);
  return {.counters = kBoardBytes + index * sizeof(ConnectionCounters),
          .slots = counters + index * slot_area,
          .packets = counters + pairs * slot_area + index * packet_area};
}

std::size_t HostDomain::ControlBytes() const {
  return RoundUp(FindPlace(options_.lanes, 0).packets, kArenaAlignment);
}

HostDomain::HostDomain(Session& session, const Options& options)
    : rank_(session.rank()), ranks_(session.ranks()), options_(options) {
  if (options.lanes < 1 || options.limits.slots < 2 || options.limits.slots > kMaxSlots ||
      !std::has_single_bit(static_cast<unsigned>(options.limits.slots))) {
    throw std::invalid_argument("host domain: expected lanes >= 1 and 2, 4 or 8 slots");
  }
  memory_ = HostMemory::Create(session, ControlBytes() + options.arena_bytes);
  page_kib_ = memory_->page_kib(rank_);
  connections_.resize(static_cast<std::size_t>(options.lanes) * ranks_);
  std::byte* mine = memory_->Segment(rank_).data();
  for (int lane = 0; lane < options.lanes; ++lane) {
    for (int peer = 0; peer < ranks_; ++peer) {
      std::byte* theirs = memory_->Segment(peer).data();
      const Place here = FindPlace(lane, peer);
      const Place there = FindPlace(lane, rank_);
      Connection& connection = At(lane, peer);
      connection.here = new (mine + here.counters) ConnectionCounters;
      for (SharedCounter* counter :
           {&connection.here->tokens, &connection.here->slot_messages,
            &connection.here->slot_credits, &connection.here->packet_credits}) {
        counter->value.store(options.first_count, std::memory_order_relaxed);
      }
      connection.there = reinterpret_cast<ConnectionCounters*>(theirs + there.counters);
      connection.inbox = mine + here.slots;
      connection.outbox = theirs + there.slots;
      connection.packet_inbox = reinterpret_cast<std::atomic<std::uint64_t>*>(mine + here.packets);
      connection.packet_outbox =
          reinterpret_cast<std::atomic<std::uint64_t>*>(theirs + there.packets);
      for (Connection::Counts* counts :
           {&connection.slots, &connection.packets, &connection.tokens}) {
        *counts = {options.first_count, options.first_count, options.first_count,
                   options.first_count};
      }
    }
  }
  session.Barrier();  // no rank may post before all counters are there
}

std::span<std::byte> HostDomain::Board(int rank) const {
  return memory_->Segment(rank).first(kBoardBytes);
}

std::span<std::byte> HostDomain::ArenaOf(int rank) const {
  return memory_->Segment(rank).subspan(ControlBytes());
}

}  // namespace hockney
