#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "collectives/types.h"
#include "tuner/select/choice.h"

namespace hockney {

// The seconds that a choice would take for a collective of `bytes` (nccl-tests' size) on a shape
// that nobody measured, or nothing where it cannot say. A simulator is one.
using Predictor = std::function<std::optional<double>(Collective collective, const Choice& choice,
                                                      std::int64_t ranks, std::int64_t nodes,
                                                      std::uint64_t bytes)>;

}  // namespace hockney
