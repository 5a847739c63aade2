#pragma once

#include <string>

#include "collectives/executors/cuda/device.h"
#include "tests/gpu/sections.h"

namespace hockney::testing {

// Times collectives of ranks that are blocks of one launch, and copies of the device beside them.
// Returns a table: bytes that must be read and written over the time, as a share of the copies'
// rate.
std::string MeasureSpeed(Device& device, const SectionOptions& options);

}  // namespace hockney::testing
