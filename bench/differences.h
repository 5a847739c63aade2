#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tuner/records.h"
#include "tuner/statistics.h"

namespace hockney {

// One row that two runs have in common, judged by the medians of their launches.
struct Difference {
  std::string what = {};  // everything that tells the row from others
  Ratio ratio = {};       // time in `b` over time in `a`, with its interval (rank_sum.h)
  double p_value = 1;     // of the rank-sum test
  bool claimed = false;   // unlike, with all rows judged together
  std::size_t launches_a = 0;
  std::size_t launches_b = 0;
};

// What two runs have in common, and what only one of them has.
struct Comparison {
  std::vector<Difference> differences = {};
  std::vector<std::string> only_a = {};  // rows
  std::vector<std::string> only_b = {};
};

// Launches a run needs for a difference to be claimed or denied.
inline constexpr std::size_t kLeastComparedLaunches = 5;

// Compares two runs row by row. A difference is claimed where the rank-sum test on the launches'
// medians rejects equality at `level` for the whole family of rows (Holm's steps): runs of one
// program are called unlike at any row with that probability at most, however many rows there are.
// Rows without a time are left out. Throws std::invalid_argument if the runs have no row in common
// or one with fewer than kLeastComparedLaunches launches.
Comparison FindDifferences(std::span<const SweepRow> a, std::span<const SweepRow> b,
                           double level = 0.05);

}  // namespace hockney
