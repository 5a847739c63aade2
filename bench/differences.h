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

// Compares two runs row by row. A difference is claimed where the rank-sum test on the launches'
// medians rejects equality at `level` for the whole family of rows (Holm's steps): runs of one
// program are called unlike at any row with that probability at most, however many rows there are.
// Rows of one run only, and rows without a time, are left out.
std::vector<Difference> FindDifferences(std::span<const SweepRow> a, std::span<const SweepRow> b,
                                        double level = 0.05);

}  // namespace hockney
