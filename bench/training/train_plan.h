#pragma once

#include <cstdint>
#include <string>

#include "bench/training/mlp.h"
#include "collectives/types.h"
#include "tuner/training/step_plan.h"

namespace hockney {

// A block that is trained, and what its ranks share out.
struct TrainPlan {
  MlpShape shape;                      // of the whole block
  int rows = 1;                        // tokens of the global batch
  ParallelDegrees degrees;             // dp and tp
  Sharding sharding = Sharding::kDdp;  // kDdp, kZero1, kZero3
  // What ranks compute with: kFloat32 or kBfloat16, rounded from float32 parameters that AdamW
  // updates. Sums are of float32.
  DataType weights = DataType::kFloat32;
  std::uint64_t seed = 1;
};

// Returns in one line what of it cannot be trained, or "".
std::string WhyNotTrained(const TrainPlan& plan);

// Returns the plan for the MLP block of a transformer, with the tokens of its step as rows. Throws
// std::invalid_argument for models without such a block and for what WhyNotTrained says.
TrainPlan TrainPlanOf(const StepPlan& step, std::uint64_t seed);

// The same training by one rank.
TrainPlan OneRank(const TrainPlan& plan);

// The part of the block that a tensor-parallel rank has, and the tokens of a data-parallel one.
MlpShape PartOf(const TrainPlan& plan);
int RowsOf(const TrainPlan& plan);

// Parameters of a rank while it computes, with padding at the end so that shards are alike; and
// those that it keeps and updates.
std::int64_t PaddedElements(const TrainPlan& plan);
std::int64_t MasterElements(const TrainPlan& plan);

}  // namespace hockney
