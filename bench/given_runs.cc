#include "bench/given_runs.h"

#include <fmt/core.h>

#include "bench/options.h"
#include "tuner/records.h"

namespace hockney {

std::vector<RunRecords> ReadGivenRuns(std::vector<std::string>& paths) {
  if (paths.empty()) {
    const auto newest = NewestRun();
    if (!newest) {
      throw UsageError("RUN: none given and none in hockney-runs: expected a run folder");
    }
    fmt::print("run folder: {} (the newest)\n", newest->string());
    paths.push_back(newest->string());
  }
  std::vector<RunRecords> runs;
  runs.reserve(paths.size());
  for (const std::string& path : paths) runs.push_back(ReadRecords(path));
  return runs;
}

}  // namespace hockney
