#include "tuner/select/compare.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tuner/rank_sum.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::size_t kLaunchesOfInterval = 5;
constexpr std::size_t kLaunchesOfRankSum = 4;
constexpr double kLevel = 0.05;
constexpr std::size_t kResamples = 1000;  // of a yes or no; a figure that is printed takes more

using Launches = std::map<LaunchId, LaunchTime>;
using Pairs = std::vector<std::pair<LaunchTime, LaunchTime>>;

Pairs SharedLaunches(const Launches& a, const Launches& b) {
  Pairs pairs;
  for (const auto& [launch, time] : a) {
    const auto beside = b.find(launch);
    if (beside != b.end()) pairs.emplace_back(time, beside->second);
  }
  return pairs;
}

bool IsAbove(const LaunchTime& a, const LaunchTime& b) {
  return a.low_us.value_or(a.us) > b.high_us.value_or(b.us);
}

Ratio RatioOfPairs(const Pairs& pairs) {
  std::vector<LaunchSamples> samples;
  samples.reserve(pairs.size());
  for (const auto& [a, b] : pairs) samples.push_back({{&a.us, 1}, {&b.us, 1}});
  return RatioOfMedians(samples, kResamples);
}

std::vector<double> TimesOf(const Launches& launches) {
  std::vector<double> times;
  times.reserve(launches.size());
  for (const auto& [launch, time] : launches) times.push_back(time.us);
  return times;
}

bool AreApart(const Launches& a, const Launches& b) {
  const auto times_a = TimesOf(a);
  const auto times_b = TimesOf(b);
  const auto most = std::min(times_a.size(), times_b.size());
  if (most >= kLaunchesOfRankSum &&
      std::max(times_a.size(), times_b.size()) <= kMostRankSumValues) {
    return Median(times_a) > Median(times_b) && RankSumPValue(times_a, times_b) < kLevel;
  }
  return std::all_of(a.begin(), a.end(), [&](const auto& one) {
    return std::all_of(b.begin(), b.end(),
                       [&](const auto& other) { return IsAbove(one.second, other.second); });
  });
}

}  // namespace

Comparison Compare(const CellTimes& cell, const Choice& a, const Choice& b) {
  const Launches& of_a = cell.at(a);
  const Launches& of_b = cell.at(b);
  const Pairs pairs = SharedLaunches(of_a, of_b);
  if (pairs.empty()) {
    return {.ratio = Median(TimesOf(of_a)) / Median(TimesOf(of_b)),
            .beyond_noise = AreApart(of_a, of_b)};
  }
  const Ratio ratio = RatioOfPairs(pairs);
  if (pairs.size() >= kLaunchesOfInterval) {
    return {.ratio = ratio.value, .beyond_noise = ratio.interval.low > 1};
  }
  const bool apart = std::all_of(pairs.begin(), pairs.end(),
                                 [](const auto& pair) { return IsAbove(pair.first, pair.second); });
  return {.ratio = ratio.value, .beyond_noise = apart};
}

}  // namespace hockney
