#pragma once

#include "collectives/executors/host/host_executor.h"
#include "tests/collectives/executor_cases.h"

namespace hockney::testing {

// Both outlive what is returned.
Ground HostGround(HostDomain& domain, HostExecutor& executor);

// The host executor on threads: a MakeGround.
Ground MakeHostGround(Session& session, const DomainOptions& options);

}  // namespace hockney::testing
