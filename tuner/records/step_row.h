#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/records/table.h"

namespace hockney {

// One row of step.csv: what a step is, and how long it took. Members are named as the columns.
struct StepRow {
  // The plan. Texts as `hockney step` takes them.
  std::string model = {};
  std::string scale = {};
  std::int64_t tokens_per_sample = 0;  // 0: the model's own
  std::optional<DataType> dtype = {};
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::string parallel = {};
  std::string sharding = "ddp";
  std::int64_t shard_ranks = 0;
  std::int64_t prefetch = 1;
  std::string pipeline = "1f1b";
  std::int64_t chunks = 1;
  std::int64_t micro_batches = 1;
  std::int64_t micro_batch = 1;
  bool no_sync = true;
  bool sequence_parallel = false;
  double expert_skew = 0;
  std::string buckets = "rebuilt";
  std::optional<std::int64_t> bucket_cap_bytes = {};  // nothing: the framework's default
  std::optional<DataType> gradient_dtype = {};
  // How computing was done.
  std::string compute = "emulate";  // emulate, gemm
  std::string device = {};
  double efficiency = 0.4;
  std::string layer_times = {};
  std::string implementation = "hockney";
  std::string memory_kind = "host";  // where buffers lay: host, cuda
  // What was found. Nothing where it was not measured.
  Status status = Status::kOk;
  std::string reason = {};
  std::int64_t steps = 0;
  std::optional<double> step_ms_median = {};
  std::optional<double> step_ms_ci_low = {};
  std::optional<double> step_ms_ci_high = {};
  std::optional<double> compute_ms = {};        // of the step without communication
  std::optional<double> communication_ms = {};  // of the step without computing
  std::optional<double> exposed_ms = {};        // step - compute
  std::optional<double> hidden_ms = {};         // communication - exposed
  std::int64_t collectives = 0;                 // of rank 0 in a step
  std::int64_t gradient_buckets = 0;
  std::int64_t communicated_bytes = 0;  // sizes of rank 0's collectives, padding included
  std::int64_t padding_bytes = 0;
  std::optional<double> tokens_per_s = {};
  std::optional<double> mfu = {};  // model flops of the step over the ranks' peak
  std::int64_t data_errors = 0;
  std::int64_t launch = 0;

  static std::span<const Column<StepRow>> Columns();
  bool operator==(const StepRow&) const = default;
};

// Reads step.csv; `path` is the file or its run folder. See ReadTable for notes and errors.
std::vector<StepRow> ReadSteps(const std::string& path, std::vector<std::string>* notes = nullptr);

}  // namespace hockney
