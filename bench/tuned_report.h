#pragma once

#include <span>
#include <string>

#include "tuner/records.h"

namespace hockney {

// Returns whether the choices of --tuned hold in these rows of one launch: each beside the fastest
// row of its cell, then mean and p95 of the quotients; empty without such rows.
std::string TunedReport(std::span<const SweepRow> rows);

}  // namespace hockney
