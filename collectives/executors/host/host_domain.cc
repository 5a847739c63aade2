#include "collectives/executors/host/host_domain.h"

#include <cstring>
#include <stdexcept>

#include "collectives/executors/local_ranks.h"
#include "topology/check.h"

namespace hockney {

HostDomain::HostDomain(Session& session, const Options& options)
    : rank_(session.rank()), ranks_(session.ranks()), options_(options) {
  local_of_ = FindLocalNumbers(session, session);
  local_ranks_ = ranks_;
  ShareMemory(session);
  session.Barrier();  // no rank may post before all counters are there
}

HostDomain::HostDomain(Session& session, Session& local, UcxWire& wire, const Options& options)
    : rank_(session.rank()), ranks_(session.ranks()), options_(options) {
  CheckAgreement(session);
  local_of_ = FindLocalNumbers(session, local);
  local_ranks_ = local.ranks();
  ShareMemory(local);
  std::vector<bool> on_host(ranks_);
  for (int rank = 0; rank < ranks_; ++rank) on_host[rank] = IsLocal(rank);
  if (local_ranks_ < ranks_) {
    remote_ = std::make_unique<RemoteLinks>(wire, connections_, on_host, options_);
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

void HostDomain::ShareMemory(Session& local) {
  plan_.emplace(options_.lanes, local_ranks_, options_.limits);
  memory_ = HostMemory::Create(local, plan_->ControlBytes() + options_.arena_bytes);
  const int mine = local_of_[rank_];
  page_kib_ = memory_->page_kib(mine);
  plan_->MakeCounters(memory_->Segment(mine).data(), options_.first_count);
  connections_.resize(static_cast<std::size_t>(options_.lanes) * ranks_);
  const std::uint64_t first = options_.first_count;
  for (Connection& connection : connections_) {
    connection.slots = connection.packets = connection.tokens = {first, first, first, first};
  }
  for (int lane = 0; lane < options_.lanes; ++lane) {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (!IsLocal(peer)) continue;
      const int theirs = local_of_[peer];
      At(lane, peer) = plan_->Join(lane, {mine, memory_->Segment(mine).data()},
                                   {theirs, memory_->Segment(theirs).data()}, first);
    }
  }
}

std::span<std::byte> HostDomain::Board(int rank) const {
  return memory_->Segment(local_of_.at(rank)).first(kBoardBytes);
}

std::span<std::byte> HostDomain::ArenaOf(int rank) const {
  return memory_->Segment(local_of_.at(rank)).subspan(plan_->ControlBytes());
}

}  // namespace hockney
