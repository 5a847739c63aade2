#pragma once

#include "bench/launch.h"
#include "bench/reporter.h"
#include "bench/sweep_options.h"

namespace hockney {

// Runs the sweep on all ranks of the session, one host's, and returns the exit code. Rank 0 writes
// the run folder, unless the options keep none, and tells `reporter`. Throws EnvironmentError if
// the ranks are on several hosts or memory is short, std::invalid_argument if the run folder exists
// or its launches cannot be compared with this one.
int RunSweep(Session& session, const SweepOptions& options, const Launch& launch,
             Reporter& reporter);

}  // namespace hockney
