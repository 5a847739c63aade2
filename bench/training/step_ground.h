#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bench/buffers.h"
#include "bench/device/device_of_rank.h"
#include "bench/host_ground.h"
#include "collectives/executors/cuda/ucx_proxy.h"
#include "collectives/executors/executor.h"

namespace hockney {

// Who does the collectives of a step.
enum class StepImplementation : std::uint8_t { kHockney, kMpi, kNccl };

struct StepGroundOptions {
  StepImplementation implementation = StepImplementation::kHockney;
  HostExecutor::Options executor = {};
  std::string interfaces = {};
  // Where buffers lie on devices this rank's, which outlives the grounds; null: on the host.
  const DeviceOfRank* device = nullptr;
  PeerMemoryKind peer_memory = PeerMemoryKind::kCudaIpc;
  ProxyPath path = ProxyPath::kStaged;
};

// What the collectives of a group of ranks stand on: memory for their buffers, our executor, and
// the library that does them in its place where the options name one. Buffers are laid out, filled
// and checked on memory of the host, also where the calls work on an image of it on a device.
class StepGround {
 public:
  StepGround() = default;
  StepGround(const StepGround&) = delete;
  StepGround& operator=(const StepGround&) = delete;
  virtual ~StepGround() = default;

  virtual std::span<std::byte> arena() const = 0;  // on the host
  virtual const FlowLimits& limits() const = 0;
  // The call, whose buffers are in the arena, by our executor. Collective over the group. What is
  // prepared may be run by any thread, by one at a time, and the ground outlives it.
  virtual std::unique_ptr<Prepared> Prepare(const Call& call, const Algorithm& row,
                                            const CallFlow& flow) = 0;
  // Which library the options name, "NCCL 2.28.9 (/usr/lib/libnccl.so.2)"; "": none.
  virtual std::string Library() const = 0;
  // Why there is no library, the same on all ranks of the group, or "".
  virtual std::string WhyNoLibrary() const { return ""; }
  // Why the library cannot do the call, or "".
  virtual std::string WhyNot(const Call& call) const = 0;
  // The call by the library. Collective over the group.
  virtual std::unique_ptr<Prepared> PrepareByLibrary(const Call& call) = 0;
  // Bring a set from the host to where the calls find it, and back.
  virtual void Upload(const BufferSet& set) const = 0;
  virtual void Download(const BufferSet& set) const = 0;
};

// A group, and what its ground needs to be made.
struct StepGroundParts {
  Session& session;
  Session& local;                   // the group's ranks on this host
  const UcxWire* beside = nullptr;  // of all ranks, which moves when the group's does
  std::size_t arena_bytes = 0;      // of this rank
};

// What the domain of a group is made with, where the slots of a rank's connections fit
// `slot_room_bytes`. Collective over the session.
DomainOptions StepDomain(const StepGroundParts& parts, std::size_t slot_room_bytes);

// Collective over the session; what `parts` refers to outlives the ground.
std::unique_ptr<StepGround> MakeStepGround(const StepGroundParts& parts,
                                           const StepGroundOptions& options);

}  // namespace hockney
