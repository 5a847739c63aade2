#pragma once

#include <span>
#include <string>

#include "tuner/records.h"

namespace hockney {

// Returns a table for people: the rate of each kernel and type by where its slices lie, with the
// store policy that is faster there, alone and of all ranks of the host at once. Empty without
// rows.
std::string KernelsText(std::span<const KernelRow> rows);

}  // namespace hockney
