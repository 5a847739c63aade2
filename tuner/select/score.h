#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tuner/select/measured.h"

namespace hockney {

// The launches of a table: those that tuning reads, and two halves of those it never reads.
struct LaunchSplit {
  std::set<LaunchId> tuning = {};  // the first, third, fifth, ...
  std::set<LaunchId> first = {};   // of the others, every other one
  std::set<LaunchId> second = {};  // empty with fewer than four launches
};
LaunchSplit SplitLaunches(const MeasuredTable& table);

// How much slower than the best a choice is at one size.
struct CellScore {
  double regret = 0;          // chosen / best - 1; below 0 where the best was best by luck only
  bool within_noise = false;  // the launches that score cannot tell the choice from their best
  Choice best = {};
};

// Scores a choice on the launches that tuning never read: the best of all choices is found on one
// half and both times are read on the other, launch by launch, then the other way round; the mean
// of both. With one half only it does both. Nothing where the choice was not measured there, or
// nothing else was.
std::optional<CellScore> ScoreCell(const CellTimes& cell, const LaunchSplit& split,
                                   const Choice& choice);

// A method's regret over cells.
struct Regret {
  std::string method = {};
  std::size_t cells = 0;
  std::size_t left_out = 0;      // where it names nothing that was measured
  std::size_t within_noise = 0;  // of the cells
  double mean = 0;               // 0.01: 1 % slower than the best
  double p95 = 0;                // nearest rank
  double max = 0;
};
Regret Summarize(std::string method, std::span<const std::optional<CellScore>> scores);

}  // namespace hockney
