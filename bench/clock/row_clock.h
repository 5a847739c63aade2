#pragma once

#include <string>

#include "bench/competitors.h"

namespace hockney {

// Whether the row's times on the common clock may be wrong by more than 5 %. Only where clocks
// differ; the row has samples.
bool IsClockTooUncertain(const Competitor& row);

// Replaces all times of the row by the longest own time of any rank, and says so.
void UseLocalTimes(Competitor& row, const std::string& reason);

}  // namespace hockney
