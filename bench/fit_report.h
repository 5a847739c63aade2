#pragma once

#include <string>

#include "tuner/model/model.h"

namespace hockney {

// Returns what was fitted for people: levels, choices of collectives, kernels, sizes off their
// curves and what was refused.
std::string FitText(const Model& model);

// Returns every size that was fitted with its time, what the curve says, and the error.
std::string ResidualsText(const Model& model);

}  // namespace hockney
