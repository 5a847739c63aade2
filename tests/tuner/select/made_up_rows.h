#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tuner/model/fit_runs.h"
#include "tuner/select/measured.h"

namespace hockney::testing {

// A row as a sweep of all_reduce leaves it, by an algorithm of hockney's.
inline SweepRow MadeUpRow(const std::string& algorithm, std::uint64_t bytes, double us,
                          std::int64_t launch = 0) {
  SweepRow row;
  row.launch = launch;
  row.collective = Collective::kAllReduce;
  row.implementation = "hockney";
  row.algorithm = algorithm;
  row.protocol = "simple";
  row.lanes = 1;
  row.parameters = "pieces=1;slice_bytes=64;slices=2;slots=8;store=cached";
  row.mode = "isolated";
  row.buffers = "refreshed";
  row.memory_kind = "host";
  row.dtype = DataType::kFloat32;
  row.op = ReduceOp::kSum;
  row.ranks = 4;
  row.nodes = 1;
  row.size_bytes = bytes;
  row.in_place = false;
  row.time_us_median = us;
  return row;
}

inline SweepRow MadeUpMpiRow(std::uint64_t bytes, double us, std::int64_t launch = 0) {
  SweepRow row = MadeUpRow("default", bytes, us, launch);
  row.implementation = "mpi";
  row.protocol = "";
  row.lanes.reset();
  row.parameters = "library=Open MPI 4.1.4";
  return row;
}

// The one table of these rows.
inline MeasuredTable TableOf(std::vector<SweepRow> rows) {
  const std::vector<RunRecords> runs = {{.sweep = std::move(rows)}};
  return MeasuredTables(runs).at(0);
}

}  // namespace hockney::testing
