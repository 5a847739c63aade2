#include "tuner/select/score.h"

#include <algorithm>
#include <utility>

#include "tuner/select/compare.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

CellTimes OfLaunches(const CellTimes& cell, const std::set<LaunchId>& launches) {
  CellTimes rest;
  for (const auto& [choice, times] : cell) {
    for (const auto& [launch, time] : times) {
      if (launches.contains(launch)) rest[choice][launch] = time;
    }
  }
  return rest;
}

Choice BestOf(const CellTimes& cell) {
  const auto medians = LevelMedians(cell);
  return std::min_element(medians.begin(), medians.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Chosen over best, where the best of `judge` is looked up in `reads`.
std::optional<double> RatioOn(const CellTimes& judge, const CellTimes& reads,
                              const Choice& choice) {
  if (judge.size() < 2 || !reads.contains(choice)) return std::nullopt;
  const Choice best = BestOf(judge);
  if (!reads.contains(best)) return std::nullopt;
  return Compare(reads, choice, best).ratio;
}

}  // namespace

LaunchSplit SplitLaunches(const MeasuredTable& table) {
  std::set<LaunchId> all;
  for (const auto& [bytes, cell] : table.cells) {
    for (const auto& [choice, launches] : cell) {
      for (const auto& [launch, time] : launches) all.insert(launch);
    }
  }
  LaunchSplit split;
  std::size_t number = 0;
  for (const LaunchId& launch : all) {
    std::set<LaunchId>& part = number % 2 == 0   ? split.tuning
                               : number % 4 == 1 ? split.first
                                                 : split.second;
    part.insert(launch);
    ++number;
  }
  return split;
}

std::optional<CellScore> ScoreCell(const CellTimes& cell, const LaunchSplit& split,
                                   const Choice& choice) {
  const CellTimes first = OfLaunches(cell, split.first);
  const CellTimes second = OfLaunches(cell, split.second);
  std::vector<double> ratios;
  const auto add = [&](const CellTimes& judge, const CellTimes& reads) {
    const auto ratio = RatioOn(judge, reads, choice);
    if (ratio) ratios.push_back(*ratio);
  };
  if (second.empty()) {
    add(first, first);
  } else {
    add(first, second);
    add(second, first);
  }
  if (ratios.empty()) return std::nullopt;
  std::set<LaunchId> all = split.first;
  all.insert(split.second.begin(), split.second.end());
  const CellTimes both = OfLaunches(cell, all);
  const Choice best = BestOf(both);
  return CellScore{.regret = Mean(ratios) - 1,
                   .within_noise = choice == best || !Compare(both, choice, best).beyond_noise,
                   .best = best};
}

Regret Summarize(std::string method, std::span<const std::optional<CellScore>> scores) {
  Regret regret{.method = std::move(method)};
  std::vector<double> all;
  all.reserve(scores.size());
  for (const auto& score : scores) {
    if (!score) continue;
    all.push_back(score->regret);
    if (score->within_noise) ++regret.within_noise;
  }
  regret.cells = all.size();
  regret.left_out = scores.size() - all.size();
  if (all.empty()) return regret;
  regret.mean = Mean(all);
  regret.p95 = Quantile(all, 0.95);
  regret.max = Quantile(all, 1);
  return regret;
}

}  // namespace hockney
