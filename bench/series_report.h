#pragma once

#include <span>
#include <string>

#include "tuner/records.h"

namespace hockney {

// Returns what can be claimed from several launches, as a table: for each size our best choice,
// made on one half of the launches and reported on the other (choice.h), with the median of its
// launches and how many times the time of MPI it is. Says what keeps it from being a claim: fewer
// than five launches to report, or nothing of two launches.
std::string SeriesReport(std::span<const SweepRow> rows);

}  // namespace hockney
