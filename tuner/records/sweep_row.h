#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/records/table.h"

namespace hockney {

// One row of sweep.csv: one collective at one size by one implementation in one launch. Members are
// named as the columns, units are in the names. An empty optional or text is "undefined" or "not
// known", never 0.
struct SweepRow {  // NOLINT(clang-analyzer-optin.performance.Padding): in the columns' order
  std::int64_t launch = 0;  // 0-based number of the launch within the folder
  std::int64_t order = 0;   // position in the random order of its launch
  Collective collective = Collective::kAllReduce;
  std::string implementation = {};  // hockney, mpi, nccl
  std::string algorithm = {};
  std::string protocol = {};
  std::optional<std::int64_t> lanes = {};
  std::string parameters = {};  // sorted key=value;...
  std::string transport = {};
  std::string mode = {};     // isolated, streamed
  std::string buffers = {};  // refreshed, hot, cold
  std::string clock = {};    // tsc, hca3, local
  std::optional<double> clock_error_us = {};
  std::optional<std::int64_t> page_kib = {};
  std::string memory_kind = {};
  std::optional<std::int64_t> graph = {};  // operations captured in one CUDA graph
  std::string groups = {};                 // --split, empty for one group of all ranks
  std::optional<std::int64_t> root = {};
  std::optional<DataType> dtype = {};
  std::optional<ReduceOp> op = {};
  std::int64_t ranks = 0;
  std::optional<std::int64_t> nodes = {};
  std::uint64_t size_bytes = 0;  // SizeBytes of bandwidth.h
  std::optional<std::uint64_t> count = {};
  std::optional<bool> in_place = {};
  std::uint64_t samples = 0;
  std::optional<double> time_us_median = {};
  std::optional<double> time_us_ci_low = {};
  std::optional<double> time_us_ci_high = {};
  std::optional<double> time_us_min = {};
  std::optional<double> time_us_mean = {};
  std::optional<double> time_us_p95 = {};
  std::optional<double> time_us_p99 = {};
  std::optional<double> entry_skew_ns = {};
  std::optional<double> c2c_ns = {};
  std::optional<std::int64_t> slowest_rank = {};
  std::optional<double> algbw_GBps = {};  // GB = 1e9 bytes
  std::optional<double> busbw_GBps = {};
  std::optional<double> wire_bytes_per_rank = {};
  std::optional<double> bound_GBps = {};
  std::optional<double> bound_fraction = {};
  std::optional<std::uint64_t> errors = {};  // missing: not checked
  Status status = Status::kOk;
  std::string reason = {};
  std::string requested_algorithm = {};
  std::string verified = {};
  std::optional<bool> converged = {};
  std::optional<bool> oversubscribed = {};
  std::optional<bool> burst_limited = {};

  static std::span<const Column<SweepRow>> Columns();
  bool operator==(const SweepRow&) const = default;
};

// The value of a key of a row's parameters, or "".
std::string FindParameter(std::string_view parameters, std::string_view key);
std::string FindParameter(const SweepRow& row, std::string_view key);

// The row's algorithm as --algorithm names it, with the levels of `hierarchical`.
std::string AlgorithmOf(const SweepRow& row);

// What tells a row's competitor apart from others of its cell, whatever ranks and size:
// "hockney ring simple x1 slices=2 store=cached".
std::string VariantOf(const SweepRow& row);

// One row of samples.csv.
struct SampleRow {
  std::int64_t row = 0;  // 0-based row of sweep.csv
  std::int64_t launch = 0;
  std::int64_t sample = 0;  // 0-based within the row
  std::int64_t order = 0;   // position among the interleaved samples of all competitors
  double time_us = 0;
  std::optional<std::int64_t> slowest_rank = {};

  static std::span<const Column<SampleRow>> Columns();
  bool operator==(const SampleRow&) const = default;
};

// Read sweep.csv and samples.csv; `path` is the file or its run folder. See ReadTable for notes and
// errors.
std::vector<SweepRow> ReadSweep(const std::string& path, std::vector<std::string>* notes = nullptr);
std::vector<SampleRow> ReadSamples(const std::string& path,
                                   std::vector<std::string>* notes = nullptr);

}  // namespace hockney
