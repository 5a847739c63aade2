#include "tests/gpu/device_ground.h"

#include <span>
#include <utility>
#include <vector>

namespace hockney::testing {
namespace {

struct Parts {
  std::shared_ptr<Device> device;
  std::shared_ptr<RemoteProxy> proxy;
  CudaDomain domain;
  CudaExecutor executor;

  Parts(Session& session, std::shared_ptr<Device> of_rank, const DomainOptions& options,
        PeerMemoryKind kind, const CudaExecutor::Options& of_executor)
      : device(std::move(of_rank)),
        domain(session, *device, options, kind),
        executor(session, domain, of_executor) {}
  Parts(Session& session, const DeviceHosts& hosts, std::shared_ptr<Device> of_rank,
        const DomainOptions& options, const CudaExecutor::Options& of_executor)
      : device(std::move(of_rank)),
        proxy(hosts.proxy),
        domain(session, {hosts.local, *proxy}, *device, options, PeerMemoryKind::kFileDescriptor),
        executor(session, domain, of_executor) {}
};

// The words of the packets that `peer` sends to this rank on lane 0.
std::vector<std::uint64_t> ReadPackets(const Parts& parts, int peer) {
  const DeviceRank& rank = parts.domain.rank();
  const SegmentPlan& plan = rank.plan();
  std::byte* own = parts.domain.arena() - plan.ControlBytes();
  const Connection end = plan.Join(0, {rank.rank(), own}, {peer, own}, 0);
  std::vector<std::uint64_t> words(plan.limits().slots * plan.PacketWords());
  parts.device->Read(std::as_writable_bytes(std::span(words)),
                     reinterpret_cast<const std::byte*>(end.packet_inbox));
  return words;
}

Ground GroundOf(const std::shared_ptr<Parts>& parts) {
  Ground ground;
  ground.parts = parts;
  ground.arena = parts->domain.arena();
  ground.limits = parts->domain.options().limits;
  ground.prepare = [parts](const Call& call, const Algorithm& row, const CallFlow& flow,
                           StorePolicy) { return parts->executor.Prepare(call, row, flow); };
  ground.write = [parts](std::span<const std::byte> bytes) {
    parts->device->Write(parts->domain.arena(), bytes);
  };
  ground.read = [parts](std::size_t bytes) {
    std::vector<std::byte> read(bytes);
    parts->device->Read(read, parts->domain.arena());
    return read;
  };
  ground.packets = [parts](int peer) { return ReadPackets(*parts, peer); };
  return ground;
}

}  // namespace

Ground MakeDeviceGround(Session& session, std::shared_ptr<Device> device,
                        const DomainOptions& options, PeerMemoryKind kind,
                        const CudaExecutor::Options& of_executor) {
  return GroundOf(std::make_shared<Parts>(session, std::move(device), options, kind, of_executor));
}

Ground MakeDeviceGround(Session& session, const DeviceHosts& hosts, std::shared_ptr<Device> device,
                        const DomainOptions& options, const CudaExecutor::Options& of_executor) {
  return GroundOf(std::make_shared<Parts>(session, hosts, std::move(device), options, of_executor));
}

}  // namespace hockney::testing
