#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tuner/training/builders/step_builder.h"

namespace hockney {

// A unit's place in the pass of one micro-batch through one chunk.
struct UnitPass {
  StepWork work = StepWork::kForward;
  std::span<const LocalUnit* const> units = {};  // in the order of the pass
  std::size_t i = 0;                             // of them
  bool is_first_chunk = true;                    // of the micro-batch's chunks on this rank
  bool is_last_micro_batch = true;
};

// What data-parallel ranks do around the passes of a step, by Sharding.
class DataParallel {
 public:
  virtual ~DataParallel() = default;
  virtual void BeforeUnit(const UnitPass& pass) = 0;
  virtual void AfterUnit(const UnitPass& pass) = 0;
  // After all passes: the optimizer, and what it needs and leaves to do.
  virtual void Finish() = 0;
};

// `units` are all of this rank, in forward order. Both arguments outlive the result.
std::unique_ptr<DataParallel> MakeBucketed(StepBuilder& builder,
                                           const std::vector<LocalUnit>& units);
std::unique_ptr<DataParallel> MakeGathered(StepBuilder& builder,
                                           const std::vector<LocalUnit>& units);

// The optimizer's pass over `elements` parameters of this rank's.
StepNode OptimizerNode(std::int64_t elements);

// Elements of all tensors.
std::int64_t ElementsOf(const std::vector<ModelParameter>& parameters);

struct ShardGroup {
  int group = -1;
  int ranks = 1;
};

// A vector that is shared out: elements of all shards, padded.
struct ShardedVector {
  std::int64_t elements = 0;
  DataType type = DataType::kFloat32;
};

// A collective that takes such a vector apart or puts it together.
StepCall ShardCall(const std::string& name, StepStream stream, Collective collective,
                   const ShardGroup& group, const ShardedVector& vector);

}  // namespace hockney
