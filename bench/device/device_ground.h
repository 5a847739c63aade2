#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/buffers.h"
#include "bench/device/device_of_rank.h"
#include "collectives/executors/cuda/cuda_executor.h"
#include "collectives/executors/cuda/ucx_proxy.h"
#include "collectives/wire/ucx_wire.h"

namespace hockney {

// What lets ranks run programs on their devices. Buffers are laid out on memory of the host, whose
// image the arena of the device is: what lies at an offset of one lies there on the other.
class DeviceGround {
 public:
  struct Options {
    DomainOptions domain{};
    PeerMemoryKind kind = PeerMemoryKind::kCudaIpc;
    ProxyPath path = ProxyPath::kStaged;
    double timeout_seconds = 60;
  };
  // What it stands on; all outlive it.
  struct Parts {
    const DeviceOfRank& device;
    UcxWire* wire = nullptr;         // to other hosts; null where all ranks are on this one
    std::span<std::byte> host = {};  // this rank's memory of the host, as large as the arena
  };
  // Collective over `session`, which outlives the ground; `local` is its part on this host.
  DeviceGround(Session& session, Session& local, const Parts& parts, const Options& options);

  Device& device() const { return device_.device(); }
  // The beginning of the arena, which holds at least as much.
  std::span<std::byte> room(std::size_t bytes) const { return {domain_->arena(), bytes}; }
  ProxyPath path() const { return path_; }
  const FlowLimits& limits() const { return domain_->options().limits; }

  // The call of buffers on the host's memory, on those of the device.
  Call OnDevice(Call call) const;
  // CudaExecutor::Prepare for such a call.
  std::unique_ptr<DeviceCall> Prepare(const Call& call, const Algorithm& row, const CallFlow& flow);
  // CudaExecutor::PrepareProgram for such a call.
  std::unique_ptr<DeviceCall> PrepareProgram(const Call& call, const RankProgram& program,
                                             const CallFlow& flow);
  // How the ranks of a host reach each other's memory: "cuda:ipc", "cuda:fd", "cuda:peer".
  std::string Transport() const;

  // Copies a set to the device, or back.
  void Upload(const BufferSet& set) const;
  void Download(const BufferSet& set) const;
  // BufferSet::Refresh, on the device.
  void Refresh(const BufferSet& set);
  // Drives everything out of the device's cache.
  void FlushCache();

 private:
  std::byte* OnDevice(std::byte* host) const;

  const DeviceOfRank& device_;
  std::span<std::byte> host_;
  PeerMemoryKind kind_;
  ProxyPath path_;
  bool is_threads_;
  std::unique_ptr<UcxProxy> proxy_;  // null: there is one host only
  std::unique_ptr<CudaDomain> domain_;
  std::unique_ptr<CudaExecutor> executor_;
  std::unique_ptr<DeviceMark> end_;
  std::shared_ptr<DeviceBuffer> scratch_;
};

}  // namespace hockney
