#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "collectives/executors/host/host_executor.h"
#include "collectives/placement.h"
#include "collectives/wire/ucx_wire.h"
#include "topology/topology.h"

namespace hockney {

// What lets ranks run programs on memory of the host.
struct HostGround {
  std::unique_ptr<UcxWire> wire = {};  // null: there is only one host
  std::unique_ptr<HostDomain> domain = {};
  std::unique_ptr<HostExecutor> executor = {};
};

struct HostGroundOptions {
  DomainOptions domain = {};
  HostExecutor::Options executor = {};
  std::string interfaces = {};      // between hosts, for a first wire
  const UcxWire* beside = nullptr;  // of a ground of other ranks, which moves when this one does
};

// `local` is session.SplitSharedMemory(); both outlive the ground. Collective over `session`.
HostGround MakeHostGround(Session& session, Session& local, const HostGroundOptions& options);

// The call that a barrier of `ranks` ranks is, and the algorithm for it.
Call BarrierCall(int ranks);
const Algorithm& BarrierAlgorithm(bool is_one_host);

// A barrier of the ground's ranks. Collective.
std::unique_ptr<Prepared> PrepareBarrier(HostExecutor& executor, const HostDomain& domain,
                                         bool is_one_host);

// Slots of all connections of a rank together; many ranks get smaller slots rather than more
// memory. On the host, and on a device.
inline constexpr std::size_t kSlotRoomBytes = std::size_t{32} << 20;
inline constexpr std::size_t kDeviceSlotRoomBytes = std::size_t{256} << 20;

// Makes slots smaller, so that those of all connections with `local_ranks` ranks of this host fit
// `room_bytes`.
void FitSlots(DomainOptions& options, std::size_t local_ranks,
              std::size_t room_bytes = kSlotRoomBytes);

// The wire alone; null where all ranks are on this host. Collective over `session`.
std::unique_ptr<UcxWire> MakeHostWire(Session& session, const Session& local,
                                      const std::string& interfaces, const UcxWire* beside);

// Where the ranks are, for programs that work by hosts; nothing on one host. Racks are left out
// where not every host's is known, or there is only one.
std::optional<RankPlacement> PlacementOf(const Topology& topology);

}  // namespace hockney
