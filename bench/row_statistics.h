#pragma once

#include "bench/competitors.h"

namespace hockney {

// Fills in what the row of `competitor`, one of `ranks` ranks, says about its samples; a row
// without any becomes `skipped` if it was `ok`.
void FinishRow(Competitor& competitor, int ranks);

}  // namespace hockney
