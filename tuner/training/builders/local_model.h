#pragma once

#include <cstdint>
#include <vector>

#include "tuner/training/step_plan.h"

namespace hockney {

// What one rank has of a unit.
struct LocalUnit {
  int unit = 0;                              // of the model
  std::vector<ModelParameter> dense = {};    // this rank's part of each tensor
  std::vector<ModelParameter> experts = {};  // of the experts that are this rank's
};

// Returns the units of a stage of the whole model (pipeline rank + ranks x chunk), in forward
// order: the embedding and whatever is ahead of the blocks is on the first, what is behind them on
// the last.
std::vector<LocalUnit> UnitsOfStage(const StepPlan& plan, std::int64_t stage,
                                    std::int64_t expert_rank);

// The share of a unit's flops that are the attention's; 0 where it computes nothing.
double AttentionShare(const ModelUnit& unit);

}  // namespace hockney
