#pragma once

#include "tuner/select/measured.h"

namespace hockney {

// How two choices of one cell compare.
struct Comparison {
  double ratio = 1;           // time of the one over time of the other, median over launches
  bool beyond_noise = false;  // the first is slower, whatever the noise
};

// Compares choices `a` and `b`, both of the cell, launch by launch where both are in the same
// launches. Beyond noise is a slower `a` whose ratio's interval over five shared launches or more
// ends above 1; over fewer, whose interval lies above b's in every one, or, where rows have none,
// which is slower in every one; without shared launches, by the rank-sum test of four launches or
// more each, else by intervals that do not meet. A single time without interval counts as exact.
Comparison Compare(const CellTimes& cell, const Choice& a, const Choice& b);

}  // namespace hockney
