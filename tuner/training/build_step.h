#pragma once

#include <cstdint>
#include <vector>

#include "tuner/training/step_graph.h"
#include "tuner/training/step_plan.h"

namespace hockney {

// Returns the step of one world rank. Every rank's list of collectives fits those of the others
// when each rank does them one after the other in the order of its graph: where ranks differ
// (pipelines) that order is by the time at which collectives would begin if all forward passes took
// one unit of time and backward passes two. Throws std::invalid_argument for what WhyNotPlanned
// says.
StepGraph BuildStep(const StepPlan& plan, std::int64_t rank);

// The steps of all ranks.
std::vector<StepGraph> BuildSteps(const StepPlan& plan);

// One rank of every kind: the first of each pipeline stage, and each expert-parallel rank of it
// where experts are unequally busy.
std::vector<std::int64_t> KindsOfRanks(const StepPlan& plan);

}  // namespace hockney
