#include "bench/host_ground.h"

#include <algorithm>
#include <utility>

#include "topology/network.h"

namespace hockney {

std::unique_ptr<UcxWire> MakeHostWire(Session& session, const Session& local,
                                      const std::string& interfaces, const UcxWire* beside) {
  if (local.ranks() == session.ranks()) return nullptr;
  auto hosts = GatherHostNames(session);
  return beside != nullptr ? std::make_unique<UcxWire>(session, std::move(hosts), *beside)
                           : std::make_unique<UcxWire>(session, std::move(hosts), interfaces);
}

HostGround MakeHostGround(Session& session, Session& local, const HostGroundOptions& options) {
  HostGround ground;
  ground.wire = MakeHostWire(session, local, options.interfaces, options.beside);
  ground.domain = ground.wire == nullptr
                      ? std::make_unique<HostDomain>(session, options.domain)
                      : std::make_unique<HostDomain>(session, local, *ground.wire, options.domain);
  ground.executor = std::make_unique<HostExecutor>(session, *ground.domain, options.executor);
  return ground;
}

Call BarrierCall(int ranks) {
  Call call;
  call.shape = {Collective::kBarrier, ranks, 0};
  call.counts = EvenCounts(call.shape, 0);
  return call;
}

const Algorithm& BarrierAlgorithm(bool is_one_host) {
  return *FindAlgorithm(Collective::kBarrier, is_one_host ? "direct" : "recursive_doubling");
}

std::unique_ptr<Prepared> PrepareBarrier(HostExecutor& executor, const HostDomain& domain,
                                         bool is_one_host) {
  const Call call = BarrierCall(domain.ranks());
  const Algorithm& row = BarrierAlgorithm(is_one_host);
  return executor.Prepare(call, row,
                          ChooseFlow(row, call.counts, call.type, {}, domain.options().limits),
                          StorePolicy::kCached);
}

void FitSlots(DomainOptions& options, std::size_t local_ranks, std::size_t room_bytes) {
  const std::size_t connections = static_cast<std::size_t>(options.lanes) * local_ranks *
                                  static_cast<std::size_t>(options.limits.slots);
  options.limits.slot_bytes = std::clamp<std::size_t>(room_bytes / connections / 1024 * 1024, 4096,
                                                      options.limits.slot_bytes);
}

std::optional<RankPlacement> PlacementOf(const Topology& topology) {
  if (topology.nodes() == 1) return std::nullopt;
  RankPlacement placement;
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    placement.node_of_rank.push_back(topology.node_of_rank(rank));
  }
  for (int node = 0; node < topology.nodes(); ++node) {
    const auto rack = topology.rack_of_node(node);
    if (!rack || topology.racks() < 2) {
      placement.rack_of_node.clear();
      break;
    }
    placement.rack_of_node.push_back(*rack);
  }
  return placement;
}

}  // namespace hockney
