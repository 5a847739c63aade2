#pragma once

#include "tests/collectives/executor_cases.h"

namespace hockney::testing {

// Prepares calls for BlockMachine, the interpreter of GPUs, on threads of this CPU: a rank of
// `session` is a thread that starts a block of `threads` threads a lane for every call, and waits
// for them. Of types and operators it has some of each kind. `domain`, of threads, outlives what is
// prepared. Run throws TimeoutError if a lane gives up after `timeout_seconds`.
Preparer MakeBlockPreparer(Session& session, HostDomain& domain, int threads,
                           double timeout_seconds = 60);

}  // namespace hockney::testing
