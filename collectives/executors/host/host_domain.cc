#include "collectives/executors/host/host_domain.h"

#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>

#include "topology/check.h"

namespace hockney {
namespace {

constexpr std::size_t kArenaAlignment = 2 * 1024 * 1024;

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

// A rank's segment: its board, counters of all (lane, peer), then their slots, then their packets,
// then the arena.
HostDomain::Place HostDomain::FindPlace(int lane, int local_peer) const {
  const std::size_t pairs = static_cast<std::size_t>(options_.lanes) * local_ranks_;
  const std::size_t index = static_cast<std::size_t>(lane) * local_ranks_ + local_peer;
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
  FindLocalRanks(session, session);
  ShareMemory(session);
  session.Barrier();  // no rank may post before all counters are there
}

HostDomain::HostDomain(Session& session, Session& local, UcxWire& wire, const Options& options)
    : rank_(session.rank()), ranks_(session.ranks()), options_(options) {
  CheckAgreement(session);
  FindLocalRanks(session, local);
  ShareMemory(local);
  std::vector<bool> on_host(ranks_);
  for (int rank = 0; rank < ranks_; ++rank) on_host[rank] = IsLocal(rank);
  if (local_ranks_ < ranks_) {
    remote_ = std::make_unique<RemoteLinks>(wire, connections_, on_host, options_.limits,
                                            options_.first_count);
  }
  session.Barrier();
}

// Ranks of one host would find out in their common memory; a message that does not fit the other
// side's slots would only be missing there.
void HostDomain::CheckAgreement(Session& session) const {
  const std::uint64_t mine[] = {static_cast<std::uint64_t>(options_.lanes),
                                static_cast<std::uint64_t>(options_.limits.slots),
                                options_.limits.slot_bytes,
                                options_.limits.packet_slot_bytes,
                                options_.limits.memory_slice_bytes,
                                options_.first_count};
  const auto all = session.AllGather(std::as_bytes(std::span(mine)));
  for (const auto& theirs : all) {
    if (theirs == all[0]) continue;
    throw Agreed<std::invalid_argument>(
        "HostDomain: lanes, limits and first count differ between ranks");
  }
}

void HostDomain::FindLocalRanks(Session& session, Session& local) {
  local_ranks_ = local.ranks();
  local_of_.assign(ranks_, -1);
  const int mine = session.rank();
  int number = 0;
  for (const auto& bytes : local.AllGather(std::as_bytes(std::span(&mine, 1)))) {
    int rank = 0;
    std::memcpy(&rank, bytes.data(), sizeof rank);
    local_of_.at(rank) = number++;
  }
}

void HostDomain::ShareMemory(Session& local) {
  const int slots = options_.limits.slots;
  if (options_.lanes < 1 || slots < 2 || slots > kMaxSlots ||
      !std::has_single_bit(static_cast<unsigned>(slots))) {
    throw std::invalid_argument("host domain: expected lanes >= 1 and 2, 4 or 8 slots");
  }
  memory_ = HostMemory::Create(local, ControlBytes() + options_.arena_bytes);
  page_kib_ = memory_->page_kib(local_of_[rank_]);
  connections_.resize(static_cast<std::size_t>(options_.lanes) * ranks_);
  const std::uint64_t first = options_.first_count;
  for (Connection& connection : connections_) {
    connection.slots = connection.packets = connection.tokens = {first, first, first, first};
  }
  for (int lane = 0; lane < options_.lanes; ++lane) {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (IsLocal(peer)) Join(lane, peer);
    }
  }
}

void HostDomain::Join(int lane, int peer) {
  std::byte* mine = memory_->Segment(local_of_[rank_]).data();
  std::byte* theirs = memory_->Segment(local_of_[peer]).data();
  const Place here = FindPlace(lane, local_of_[peer]);
  const Place there = FindPlace(lane, local_of_[rank_]);
  Connection& connection = At(lane, peer);
  connection.here = new (mine + here.counters) ConnectionCounters;
  StartCounters(*connection.here, options_.first_count);
  connection.there = reinterpret_cast<ConnectionCounters*>(theirs + there.counters);
  connection.inbox = mine + here.slots;
  connection.outbox = theirs + there.slots;
  connection.packet_inbox = reinterpret_cast<std::atomic<std::uint64_t>*>(mine + here.packets);
  connection.packet_outbox = reinterpret_cast<std::atomic<std::uint64_t>*>(theirs + there.packets);
}

std::span<std::byte> HostDomain::Board(int rank) const {
  return memory_->Segment(local_of_.at(rank)).first(kBoardBytes);
}

std::span<std::byte> HostDomain::ArenaOf(int rank) const {
  return memory_->Segment(local_of_.at(rank)).subspan(ControlBytes());
}

}  // namespace hockney
