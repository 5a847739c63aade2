#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/training/mlp.h"

namespace hockney {

// Returns a number of [-1, 1) that depends on the arguments alone, so that every rank can make its
// share of what all have in common.
double UniformAt(std::uint64_t seed, std::uint64_t index);

// Parameters before the first step: gain 1, no biases, products that keep variances.
std::vector<float> InitialParameters(const MlpShape& shape, std::uint64_t seed);

// Fills whole rows of inputs, of mean 0 and variance 1; `first` is the number of the first row
// among all that the training sees.
void FillInputs(int features, std::uint64_t seed, std::int64_t first, std::span<float> inputs);

}  // namespace hockney
