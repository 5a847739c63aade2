#pragma once

#include "tuner/records/step_row.h"
#include "tuner/training/model_clock.h"
#include "tuner/training/step_plan.h"
#include "tuner/training/step_times.h"

namespace hockney {

// Returns the plan that a row states. Throws InputError for the model (ReadModelDescription),
// std::invalid_argument
// `--<column>: "<text>": expected ...` for other texts, and for what WhyNotPlanned says.
StepPlan PlanOfRow(const StepRow& row);

// Returns how long computing takes. Throws InputError for layer times, std::invalid_argument for
// unknown devices and efficiencies that are not above 0 and at most 1.
ComputeCost CostOfRow(const StepRow& row, const ModelDescription& model);

// The steps of the ranks to look at, of every kind one, with times.
std::vector<StepGraph> GraphsOfRow(const StepRow& row, const StepPlan& plan);

// Fills in what follows from the plan alone: counts of collectives, buckets and bytes.
void CountCollectives(const StepGraph& graph, StepRow& row);

// Model flops of one step of all ranks: of the products, forward and backward, without what is
// computed again.
double FlopsOfStep(const StepPlan& plan);
// Tokens (samples, for images) of one step of all ranks.
double TokensOfStep(const StepPlan& plan);

// Fills tokens_per_s and mfu from the row's step time.
void RateStep(const StepPlan& plan, StepRow& row);

}  // namespace hockney
