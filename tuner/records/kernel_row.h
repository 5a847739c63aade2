#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/records/table.h"

namespace hockney {

// One row of kernels.csv: passes of one local kernel over slices of one size. Members are named as
// the columns.
struct KernelRow {
  std::string host = {};
  std::string kernel = {};  // copy: one source; sum: two, written to a third place
  std::optional<DataType> dtype = {};
  std::string store = {};  // cached, non_temporal
  std::int64_t ranks_at_once = 1;
  std::uint64_t size_bytes = 0;  // of a source, of one rank
  std::string size_class = {};   // where the slices of all these ranks lie: l2, llc, memory
  double time_us_median = 0;     // of a pass, the slowest rank's
  std::optional<double> time_us_ci_low = {};
  std::optional<double> time_us_ci_high = {};
  double rate_GBps = 0;  // read and written, of all these ranks; 1e9 bytes

  static std::span<const Column<KernelRow>> Columns();
  bool operator==(const KernelRow&) const = default;
};

// Reads kernels.csv; `path` is the file or its run folder. See ReadTable for notes and errors.
std::vector<KernelRow> ReadKernels(const std::string& path,
                                   std::vector<std::string>* notes = nullptr);

}  // namespace hockney
