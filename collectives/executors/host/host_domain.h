#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/executors/connection.h"
#include "collectives/executors/host/remote_links.h"
#include "collectives/executors/segment_plan.h"
#include "collectives/flow.h"
#include "collectives/memory/host_memory.h"
#include "topology/session.h"

namespace hockney {

// What ranks need to run programs: with those of one host they share boards, counters, slots and an
// arena for the users' buffers, in one HostMemory; with those of other hosts they talk over a wire.
class HostDomain {
 public:
  using Options = DomainOptions;

  // Collective over `session`, whose ranks share this host's memory. Throws as HostMemory::Create,
  // and std::invalid_argument for options out of range.
  HostDomain(Session& session, const Options& options);
  // The same for ranks of several hosts; `local` is session.SplitSharedMemory(), and `wire`
  // outlives the domain. Collective over `session`; throws std::invalid_argument on all ranks if
  // their options but arena_bytes differ.
  HostDomain(Session& session, Session& local, UcxWire& wire, const Options& options);
  HostDomain(const HostDomain&) = delete;
  HostDomain& operator=(const HostDomain&) = delete;
  ~HostDomain() = default;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const Options& options() const { return options_; }
  double page_kib() const { return page_kib_; }
  // Whether the rank is on this host; its memory can be reached only then.
  bool IsLocal(int rank) const { return local_of_[rank] >= 0; }
  // The links with other hosts; null if there is only this one.
  RemoteLinks* remote() const { return remote_.get(); }
  // This rank's part of the arena, and rank's part as mapped here. Throws std::out_of_range for a
  // rank of another host.
  std::span<std::byte> arena() const { return ArenaOf(rank_); }
  std::span<std::byte> ArenaOf(int rank) const;
  Connection& At(int lane, int peer) { return connections_[lane * ranks_ + peer]; }
  // A little memory of each rank that all may use for what they agree on; zeroed at the start.
  static constexpr std::size_t kBoardBytes = SegmentPlan::kBoardBytes;
  std::span<std::byte> Board(int rank) const;
  std::size_t PacketWords() const { return plan_->PacketWords(); }

 private:
  void CheckAgreement(Session& session) const;
  void ShareMemory(Session& local);

  int rank_ = 0;
  int ranks_ = 1;
  Options options_;
  std::vector<int> local_of_;  // by rank: its number on this host, -1 elsewhere
  int local_ranks_ = 1;
  double page_kib_ = 0;
  std::optional<SegmentPlan> plan_;  // by number on this host, as is
  std::shared_ptr<HostMemory> memory_;
  std::vector<Connection> connections_;
  std::unique_ptr<RemoteLinks> remote_;
};

}  // namespace hockney
