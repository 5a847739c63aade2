#pragma once

#include <span>
#include <string>

#include "bench/training/step_measure.h"

namespace hockney {

// The table of cases for people, times in ms, and what the columns mean.
std::string StepTable(std::span<const StepCase> cases);

// When each reduction of gradients was ready, began and was done, from rank 0's times.
std::string BucketTable(const StepCase& step);

}  // namespace hockney
