#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/records.h"
#include "tuner/statistics.h"

namespace hockney {

// How a figure is held against its bar: "not slower" is met when the interval reaches it, the
// others when the figure does.
enum class BarRule { kFigureAtLeast, kIntervalReaches, kFigureAtMost };

struct BarResult {
  std::string what = {};
  std::string choice = {};  // the row that was judged
  double value = 0;
  Interval interval = {};
  double bar = 0;
  BarRule rule = BarRule::kFigureAtLeast;
  std::size_t launches = 0;  // that the figure rests on

  bool met() const;
};

// Judges the host bars on rows of any number of run folders, whose launches
// must be numbered apart. Our best row of a cell is chosen on launches 0, 2, 4, ... and its figure
// taken from the others, so that luck does not count. A cell with fewer than `least_launches` of
// those is left out; `notes` says which.
std::vector<BarResult> JudgeHostBars(std::span<const SweepRow> rows, std::size_t least_launches,
                                     std::vector<std::string>* notes);

// Judges the bars of shaped links between hosts on the rows of one run folder `run`: two hosts of
// one rank, two of two, and racks. Choice, launches and `notes` as for the host bars.
std::vector<BarResult> JudgeNetworkBars(const std::string& run, std::span<const SweepRow> rows,
                                        std::size_t least_launches,
                                        std::vector<std::string>* notes);

// Times the proof of every row of the table at 128 ranks (median of `repeats`), and judges the
// slowest.
BarResult JudgeVerifier(int repeats);

}  // namespace hockney
