#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/model/model.h"
#include "tuner/records.h"

namespace hockney {

// Returns a model of every kernel, type, size class and store policy of the rows, in the order in
// which they first come. Rows of equal description count together, their median and what they
// differ by. A row whose time or size is not positive is left out and told in `refused`.
std::vector<KernelModel> FitKernels(std::span<const KernelRow> rows,
                                    std::vector<std::string>& refused);

}  // namespace hockney
