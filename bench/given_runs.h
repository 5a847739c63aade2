#pragma once

#include <string>
#include <vector>

#include "tuner/model/fit_runs.h"

namespace hockney {

// Reads the run folders that a command was given; where none was, the newest in hockney-runs, which
// is then put into `paths` and named on stdout. Throws UsageError where there is none, and
// InputError as ReadRecords does.
std::vector<RunRecords> ReadGivenRuns(std::vector<std::string>& paths);

}  // namespace hockney
