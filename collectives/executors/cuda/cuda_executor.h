#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/executors/cuda/device.h"
#include "collectives/executors/cuda/device_program.h"
#include "collectives/executors/cuda/device_queue.h"
#include "collectives/executors/cuda/device_rank.h"
#include "collectives/executors/cuda/shared_segments.h"
#include "collectives/executors/executor.h"
#include "collectives/flow.h"
#include "topology/session.h"

namespace hockney {

// What ranks of one host need to run programs on devices that reach each other's memory: a segment
// each, with connections and an arena for the users' buffers.
class CudaDomain {
 public:
  // Collective over `session`; all ranks pass the same options and kind, which matters between
  // processes only. Throws as ShareSegments, SegmentPlan and DeviceRank do. `device` outlives the
  // domain.
  CudaDomain(Session& session, Device& device, const DomainOptions& options, PeerMemoryKind kind);
  // The same for ranks of several hosts: `local` is this rank's part of `session` on this host and
  // `proxy`, which outlives the domain, connects to the others.
  struct Hosts {
    Session& local;
    RemoteProxy& proxy;
  };
  CudaDomain(Session& session, const Hosts& hosts, Device& device, const DomainOptions& options,
             PeerMemoryKind kind);

  const DomainOptions& options() const { return options_; }
  DeviceRank& rank() const { return *rank_; }
  // This rank's part of the arena, in memory of the device.
  std::byte* arena() const { return rank_->arena(rank_->rank()); }
  std::size_t arena_bytes() const { return options_.arena_bytes; }

 private:
  void Join(Session& session, Session& local, Device& device, PeerMemoryKind kind,
            RemoteProxy* proxy);

  DomainOptions options_;
  SharedSegments segments_;
  std::unique_ptr<DeviceRank> rank_;
};

// Runs programs on devices: a lane is a block of threads, a rank one launch.
class CudaExecutor {
 public:
  struct Options {
    int threads = 512;            // of a block
    int ranks_on_device = 1;      // whose blocks must be there at the same time
    double timeout_seconds = 60;  // for any wait inside a launch
  };

  // `session` and `domain` outlive the executor and everything it prepares.
  CudaExecutor(Session& session, CudaDomain& domain, const Options& options);

  // Collective: all ranks pass the same call, row and flow. Buffers lie in memory of the device, in
  // this rank's arena if the program reaches its peers' memory, on multiples of the element.
  // Throws on every rank alike std::invalid_argument if they do not, for more lanes than the
  // domain has, and for more blocks than can be on the device at a time: they wait for each other.
  std::unique_ptr<DeviceCall> Prepare(const Call& call, const Algorithm& row, const CallFlow& flow);

  // The same for programs of the caller's own making, one for each rank, that reach no peer's
  // memory; one may have no lanes.
  std::unique_ptr<DeviceCall> PrepareProgram(const Call& call, const RankProgram& program,
                                             const CallFlow& flow);

 private:
  void CheckResidency(const RankProgram& program, const Call& call) const;
  std::unique_ptr<DeviceCall> MakeCall(const Call& call, const ProgramCall& program,
                                       std::span<const DeviceBuffers> buffers) const;
  void Reach(const RankProgram& program);

  Session& session_;
  CudaDomain& domain_;
  Options options_;
};

}  // namespace hockney
