#include "tuner/rank_sum.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace hockney {
namespace {

void Require(std::span<const double> group) {
  if (group.empty() || group.size() > kMostRankSumValues) {
    throw std::invalid_argument(
        fmt::format("{} values in a group, expected 1 to {}", group.size(), kMostRankSumValues));
  }
  for (const double value : group) {
    if (!(value > 0) || !std::isfinite(value)) {
      throw std::invalid_argument(fmt::format("value {}, expected finite and above 0", value));
    }
  }
}

// Twice the midrank of each value of a, then of b, among all: whole numbers even with ties.
std::vector<int> DoubledRanks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<int> ranks;
  for (const double value : all) {
    const auto less = std::count_if(all.begin(), all.end(), [&](double v) { return v < value; });
    const auto equal = std::count(all.begin(), all.end(), value);
    ranks.push_back(static_cast<int>(2 * less + equal + 1));
  }
  return ranks;
}

// The number of ways to choose `count` of the ranks, by their sum; as doubles, which hold the
// largest (128 over 64) to 1 in 10^16.
std::vector<double> CountSums(const std::vector<int>& ranks, std::size_t count) {
  int total = 0;
  for (const int rank : ranks) total += rank;
  std::vector<std::vector<double>> ways(count + 1, std::vector<double>(total + 1, 0.0));
  ways[0][0] = 1;
  for (const int rank : ranks) {
    for (std::size_t chosen = count; chosen > 0; --chosen) {
      for (int sum = total; sum >= rank; --sum) ways[chosen][sum] += ways[chosen - 1][sum - rank];
    }
  }
  return ways[count];
}

}  // namespace

double RankSumPValue(std::span<const double> a, std::span<const double> b) {
  Require(a);
  Require(b);
  const std::vector<int> ranks = DoubledRanks(a, b);
  int observed = 0;
  for (std::size_t i = 0; i < a.size(); ++i) observed += ranks[i];
  // Symmetric around this sum, also with ties.
  const double middle = static_cast<double>(a.size()) * static_cast<double>(ranks.size() + 1);
  const std::vector<double> ways = CountSums(ranks, a.size());
  double all = 0;
  double extreme = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    const double distance = std::abs(static_cast<double>(sum) - middle);
    if (distance >= std::abs(observed - middle)) extreme += ways[sum];
  }
  return extreme / all;
}

Ratio RatioOfGroups(std::span<const double> a, std::span<const double> b, double level) {
  Require(a);
  Require(b);
  std::vector<double> quotients;
  for (const double x : a) {
    for (const double y : b) quotients.push_back(y / x);
  }
  std::sort(quotients.begin(), quotients.end());
  // Without ties, a shift is accepted while at most so many quotients lie on one side of it as the
  // statistic's tail of level / 2 allows.
  std::vector<int> ranks(a.size() + b.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i + 1);
  const std::vector<double> ways = CountSums(ranks, a.size());
  double all = 0;
  for (const double number : ways) all += number;
  const std::size_t least_sum = a.size() * (a.size() + 1) / 2;
  double tail = 0;
  std::size_t cut = 0;  // quotients left out on each side
  while (tail + ways[least_sum + cut] / all <= level / 2) tail += ways[least_sum + cut++] / all;
  Ratio ratio;
  const std::size_t n = quotients.size();
  ratio.value = n % 2 == 1 ? quotients[n / 2] : std::sqrt(quotients[n / 2 - 1] * quotients[n / 2]);
  ratio.interval.confident = cut > 0;
  const std::size_t outer = cut > 0 ? cut - 1 : 0;
  ratio.interval.low = quotients[outer];
  ratio.interval.high = quotients[n - 1 - outer];
  return ratio;
}

}  // namespace hockney
