#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/nccl_tests/iterations.h"
#include "bench/nccl_tests/options.h"
#include "collectives/types.h"

namespace hockney {

// The text that nccl-tests v2.19 prints (src/util.cu), character by character where programs read
// it: device lines, column heads, rows, and the lines of the end. Every text ends with a line feed.

// Where a rank runs.
struct RankDevice {
  int rank = 0;
  int group = 0;  // of those that work at once
  int pid = 0;
  std::string host = {};  // printed up to the first dot
  int device = 0;         // for nccl-tests the number of the GPU; here of the rank on its host
  std::string cpu = {};   // the CPU's model; may be empty
};

// PCI address of the device lines. A rank on the CPU has none; 0000:00:00 is the CPU's own bridge,
// and programs that expect hexadecimal numbers there read it.
inline constexpr std::string_view kHostBusId = "0000:00:00";

// The name that stands where nccl-tests has the GPU's: "CPU AMD EPYC 7763".
std::string DeviceName(const RankDevice& device);

// The host's name as it is printed.
std::string_view ShortHost(const RankDevice& device);

// What all texts of a run have in common.
struct NcclTestsRun {
  std::string program = {};  // as argv[0] ends: all_reduce_perf
  Collective collective = Collective::kAllReduce;
  std::vector<RankDevice> devices = {};  // in the order of ranks
  NcclTestsOptions options = {};

  // Ranks that work together: all, or those of the first group, whose sizes the table shows.
  int ranks() const;
};

// One placement of a row. GB = 1e9.
struct RowSide {
  double time_us = 0;
  double algbw_GBps = 0;
  double busbw_GBps = 0;
  std::optional<std::uint64_t> wrong = {};        // elements, over all ranks; missing: N/A
  std::optional<IterationTimes> iterations = {};  // with -I 1
};

// Returns the side of `time_us` with its bandwidths; busbw is 0, as in nccl-tests, where BusFactor
// (tuner/bandwidth.h) has none.
RowSide MakeSide(const NcclTestsRun& run, std::uint64_t size_bytes, double time_us);

struct TableRow {
  std::uint64_t size_bytes = 0;  // SizeBytes of tuner/bandwidth.h
  std::uint64_t count = 0;       // of a rank's block where the collective has blocks
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;  // shown where the collective has one
  int root = -1;                 // -1: the collective has none
  RowSide out_of_place = {};
  // Missing where it was not measured: N/A in every column, out of the average, null in JSON.
  std::optional<RowSide> in_place = {};
  std::chrono::system_clock::time_point finished = {};  // with -S 1
};

// Sums over the rows of a run, all cycles together.
class RunTotals {
 public:
  void Add(const TableRow& row);

  // Sides with wrong elements; nccl-tests counts each process that saw some.
  int out_of_bounds() const { return out_of_bounds_; }
  // Mean over rows and measured placements; 0 without rows.
  double average_busbw_GBps() const;

 private:
  void AddSide(const RowSide& side);

  int out_of_bounds_ = 0;
  double busbw_sum_ = 0;
  int sides_ = 0;
};

// Whether the average bus bandwidth is below 0.9 of NCCL_TESTS_MIN_BW, the minimum; both in GB/s.
// Never without a minimum.
bool BelowMinimum(double average_busbw, std::optional<double> minimum_busbw);

// From the first line to the column heads.
std::string TableHeader(const NcclTestsRun& run);
std::string TableRowText(const NcclTestsRun& run, const TableRow& row);
// `minimum_busbw` in GB/s, missing: not judged. `error`: what went wrong, if anything did.
std::string TableFooter(const NcclTestsRun& run, const RunTotals& totals,
                        std::optional<double> minimum_busbw, std::string_view error = {});

// A number in `width` characters with as many of two decimals as fit, else with an exponent:
// "  13.67", "10310.5", " 158724".
std::string FixedWidth(double value, int width);

// Local time as in 2026-07-09 14:03:59.
std::string LocalTimeText(std::chrono::system_clock::time_point time);

}  // namespace hockney
