#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "bench/cell.h"
#include "bench/clock/run_clock.h"
#include "bench/device/device_clock.h"
#include "bench/device/device_ground.h"
#include "bench/device/device_of_rank.h"
#include "bench/device/nccl_rows.h"
#include "bench/facts.h"
#include "bench/groups/rank_groups.h"
#include "bench/launch.h"
#include "bench/tick.h"
#include "collectives/baselines/mpi/mpi_baseline.h"

namespace hockney {

// Everything that a rank needs to measure cells and that lives as long as the ranks do: its place,
// shared memory, executor, barrier, clock and MPI.
class Rig {
 public:
  // Places the rank. Collective over `session`. All arguments outlive the rig.
  Rig(Session& session, const SweepOptions& options, const Launch& launch);

  // Makes ready for these cells. Collective; throws EnvironmentError if memory is short.
  void SetUp(std::span<const Cell> cells);
  // Bytes of a rank's arena that the cells need.
  std::size_t ArenaBytes(std::span<const Cell> cells) const;

  RankGroups& groups() { return groups_; }
  // After SetUp.
  const SweepContext& context() const { return context_; }
  // Facts of the run for run.json (CollectFacts), and those that the rig adds.
  const nlohmann::ordered_json& facts() const { return facts_; }
  // Adds to the facts how ranks of different hosts have reached each other. Collective.
  void NoteTransports();

 private:
  // What lets ranks run programs.
  struct Ground {
    std::unique_ptr<UcxWire> wire = {};  // null: there is only one host
    std::unique_ptr<HostDomain> domain = {};
    std::unique_ptr<HostExecutor> executor = {};
    std::unique_ptr<DeviceGround> device = {};  // null: buffers are on the host
  };
  Ground MakeGround(Session& session, Session& local, const DomainOptions& options);
  Ground MakeDeviceGround(Session& session, Session& local, const DomainOptions& options);
  void ChoosePath(const UcxWire& wire);
  void RequireGdr() const;
  std::unique_ptr<UcxWire> MakeWire(Session& session, Session& local) const;
  bool on_devices() const { return options_.memory == MemoryKind::kCuda; }
  DomainOptions OptionsOfDomain(std::span<const Cell> cells) const;
  // Where all ranks meet.
  const Ground& common() const { return groups_.is_split() ? all_ : ours_; }
  void MakeTimer();
  void FindPlacement();
  void MakeClocks();
  std::unique_ptr<Prepared> PrepareBarrier();
  void CollectFactsOfRun();

  Session& session_;  // all ranks
  const SweepOptions& options_;
  const Launch& launch_;
  Session local_;  // the ranks of this host
  RankPlace place_;
  LastLevelCache llc_;
  RankGroups groups_;
  Session group_local_;  // the ranks of this group on this host
  int group_hosts_ = 1;
  std::size_t most_local_ranks_ = 1;        // of the group on one host, the same on all
  std::optional<RankPlacement> placement_;  // within the group; empty: it is on one host
  nlohmann::ordered_json facts_;
  std::unique_ptr<DeviceOfRank> device_;  // null: buffers are on the host
  std::optional<ProxyPath> path_;  // of all ranks, chosen with the first ground of several hosts
  std::string why_no_gdr_ = "all ranks are on one host";
  Ground all_;   // nothing without --split
  Ground ours_;  // the group's
  std::unique_ptr<Prepared> barrier_;
  std::unique_ptr<DeviceClock> device_clock_;
  std::vector<NcclRow> nccl_;
  std::unique_ptr<TickStart> tick_;  // null: the ranks are on several hosts
  std::unique_ptr<LineProbe> line_probe_;
  std::unique_ptr<MpiBaseline> mpi_;
  std::unique_ptr<RunClock> clock_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<CacheFlusher> flusher_;
  VerifyCache verified_;
  SweepContext context_;
};

}  // namespace hockney
