#pragma once

#include <span>

#include "tuner/statistics.h"

namespace hockney {

// Compares two independent groups of positive values, for example the medians of the launches of
// two runs, without any assumption on their distribution. Every function throws
// std::invalid_argument for an empty group and for a value that is not finite and positive. Source:
// Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods", chapter 4.

// Largest group: the distribution is counted exactly up to there.
inline constexpr std::size_t kMostRankSumValues = 64;

// Returns the two-sided p-value of Wilcoxon's rank-sum test, exact also with ties (midranks): how
// likely groups this unlike are if both come from one distribution. Throws std::invalid_argument
// above kMostRankSumValues values a group.
double RankSumPValue(std::span<const double> a, std::span<const double> b);

// Returns how many times larger b's values are than a's: the median of all quotients b/a (Hodges
// and Lehmann, on logarithms), and the interval of the quotients that the test accepts at `level`,
// two- sided. `confident` is false where the groups are too small for the level; the interval is
// then all quotients.
Ratio RatioOfGroups(std::span<const double> a, std::span<const double> b, double level = 0.05);

}  // namespace hockney
