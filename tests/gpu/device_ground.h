#pragma once

#include <memory>

#include "collectives/executors/cuda/cuda_executor.h"
#include "tests/collectives/executor_cases.h"

namespace hockney::testing {

// A rank on a device of its own, for RunCase. `session` outlives it.
Ground MakeDeviceGround(Session& session, std::shared_ptr<Device> device,
                        const DomainOptions& options, PeerMemoryKind kind,
                        const CudaExecutor::Options& of_executor);

}  // namespace hockney::testing
