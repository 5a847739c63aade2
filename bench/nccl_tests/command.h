#pragma once

#include "bench/launch.h"
#include "collectives/types.h"

namespace hockney {

// Runs this program as nccl-tests' one for `collective`: its options, its table, its way to time
// (calls back to back, their mean) on host memory. Returns our exit code; throws UsageError
// (BadSizesError for sizes) for a command line it cannot do.
int RunNcclTests(Launch& launch, Collective collective);

}  // namespace hockney
