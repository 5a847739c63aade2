#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tuner/select/measured.h"

namespace hockney {

// How rules are chosen.
struct RuleOptions {
  // A choice is kept for the next size unless another is better there by more than this, and beyond
  // noise (compare.h). Reference 3.4: 3 %.
  double margin = 0.03;
  // Between measured sizes, whether every power of two is decided by the choices' curves, too.
  bool decides_between = true;
};

// What is known at one size.
struct DecisionPoint {
  std::uint64_t bytes = 0;
  std::map<Choice, double> times_us = {};
  const CellTimes* cell = nullptr;  // its launches; null: no row was measured there
};

// Returns the rules that these points, ascending, ask for: ranges without gaps from 0 to the
// largest number, each of one choice. A choice holds from its first point on, so that a range ends
// at the size before the change and the next one begins 1 byte above it. Where a choice has to be
// made anew it is, of those that are not worse than the fastest by more than the margin or beyond
// noise, the one that can stay for most sizes, then the simplest, then the fastest. Times, gain and
// tie are those at the largest measured size of a range, or the largest there is. None without
// points.
std::vector<TuningRule> ChooseRanges(std::span<const DecisionPoint> points, double margin);

// Returns the table with the rules for all sizes. Empty rules if nothing was measured.
TuningTable ChooseTable(const MeasuredTable& table, const RuleOptions& options = {});

// The sizes to decide at: the measured ones and the powers of two between them. `sizes` ascend.
std::vector<std::uint64_t> WithPowersBetween(std::span<const std::uint64_t> sizes);

}  // namespace hockney
