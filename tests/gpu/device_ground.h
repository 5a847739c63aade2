#pragma once

#include <memory>

#include "collectives/executors/cuda/cuda_executor.h"
#include "collectives/executors/cuda/remote_proxy.h"
#include "tests/collectives/executor_cases.h"

namespace hockney::testing {

// A rank on a device of its own, for RunCase. `session` outlives it.
Ground MakeDeviceGround(Session& session, std::shared_ptr<Device> device,
                        const DomainOptions& options, PeerMemoryKind kind,
                        const CudaExecutor::Options& of_executor);

// The same for ranks of several hosts, whose memory is opened by file descriptors: those of
// `local`, this rank's part of `session`, reach each other's memory, and `proxy` connects to the
// others.
struct DeviceHosts {
  Session& local;
  std::shared_ptr<RemoteProxy> proxy;
};
Ground MakeDeviceGround(Session& session, const DeviceHosts& hosts, std::shared_ptr<Device> device,
                        const DomainOptions& options, const CudaExecutor::Options& of_executor);

}  // namespace hockney::testing
