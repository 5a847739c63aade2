#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tuner/training/ddp_buckets.h"
#include "tuner/training/model_description.h"
#include "tuner/training/pipeline_schedule.h"
#include "tuner/training/rank_layout.h"

namespace hockney {

// What data-parallel ranks share out among themselves.
enum class Sharding : std::uint8_t {
  kDdp,     // nothing: gradients are all-reduced in buckets
  kZero1,   // the optimizer: buckets are reduce-scattered after the last micro-batch, parameters
            // all-gathered
  kZero2,   // and gradients: reduce-scattered after every micro-batch
  kZero3,   // and parameters, as FSDP has it: a unit at a time is gathered, used and dropped
  kHybrid,  // kZero3 within groups of `shard_ranks`, whose shards are all-reduced between the
            // groups
};

// Whether parameters are shared out, and so gathered by units in place of buckets.
constexpr bool GathersParameters(Sharding sharding) {
  return sharding == Sharding::kZero3 || sharding == Sharding::kHybrid;
}

// The names that users read and write: ddp, zero1, zero2, zero3 (also fsdp), hybrid (also hsdp).
std::string_view Name(Sharding sharding);
std::optional<Sharding> ParseSharding(std::string_view text);

// Everything that decides what a step is.
struct StepPlan {
  ModelDescription model;
  ParallelDegrees degrees;
  Sharding sharding = Sharding::kDdp;
  std::int64_t shard_ranks = 0;  // kHybrid
  int prefetch = 1;  // kZero3, kHybrid: units gathered ahead of the one that computes, 0 to 2
  PipelineKind pipeline = PipelineKind::kOneForwardOneBackward;
  std::int64_t chunks = 1;         // a pipeline rank
  std::int64_t micro_batches = 1;  // of a step, on every data-parallel rank
  std::int64_t micro_batch = 1;    // samples in one
  // Gradients are reduced after the last micro-batch only (PyTorch's no_sync); with kDdp and
  // kZero1.
  bool no_sync = true;
  BucketRules buckets;  // kDdp, kZero1, kZero2
  std::int64_t shard_alignment =
      1;  // elements of which padded buckets are a multiple, besides the ranks
  bool sequence_parallel = false;  // with tensor-parallel ranks
  // The rank of the first experts gets 1 + this times its share of tokens, the others what is left;
  // 0: all alike.
  double expert_skew = 0;
  std::optional<DataType> gradient_type;  // that gradients are reduced in; nothing: the parameter's
};

// Returns in one line what does not fit together, or "".
std::string WhyNotPlanned(const StepPlan& plan);

}  // namespace hockney
