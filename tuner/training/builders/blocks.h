#pragma once

#include "tuner/training/builders/step_builder.h"

namespace hockney {

// Adds what a unit does in one pass of one micro-batch, with the collectives within it: tensor
// parallel (Megatron-LM: two all-reduces a pass, or reduce-scatters and all-gathers with sequence
// parallelism), context parallel (ring attention: keys and values go round while attention to those
// that are there is computed) and expert parallel (tokens to their experts and back). `micro_batch`
// is for names. Returns the last computing node.
int AddForward(StepBuilder& builder, const LocalUnit& unit, std::int64_t micro_batch);
int AddBackward(StepBuilder& builder, const LocalUnit& unit, std::int64_t micro_batch);

}  // namespace hockney
