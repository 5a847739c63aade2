#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tuner/model/fit_runs.h"
#include "tuner/select/choice.h"

namespace hockney {

// A launch of one of the runs that are read together.
struct LaunchId {
  std::int64_t run = 0;
  std::int64_t launch = 0;

  auto operator<=>(const LaunchId&) const = default;
};

// What a launch says of one choice at one size: its median, and the 95 % interval of it where
// known.
struct LaunchTime {
  double us = 0;
  std::optional<double> low_us = {};
  std::optional<double> high_us = {};
};

// The times of one size, by choice and launch.
using CellTimes = std::map<Choice, std::map<LaunchId, LaunchTime>>;

// All that was measured of one collective on one shape.
struct MeasuredTable {
  TuningTable key = {};  // without rules
  std::map<std::uint64_t, CellTimes> cells = {};
};

// Groups the rows that count (CountsForModel, no graphs) of all runs by collective, ranks, nodes,
// type, operator, memory kind, placement and mode. `implementation` leaves only rows of hockney,
// mpi or nccl; "" takes all. A launch that has a choice twice counts with the mean of both, unless
// the rows differ in slices: then every number of slices is a choice of its own.
std::vector<MeasuredTable> MeasuredTables(std::span<const RunRecords> runs,
                                          std::string_view implementation = {});

// The table with those cells and launches only that the functions accept; without those left empty.
MeasuredTable Restrict(const MeasuredTable& table,
                       const std::function<bool(std::uint64_t bytes)>& takes_size,
                       const std::function<bool(LaunchId)>& takes_launch);

// The median time in us of each choice over launches. Launches differ as a whole (another core, a
// busy machine), and not every choice is in each: before the median a launch's times are divided by
// how much slower it was than the median launch, in the median over its choices.
std::map<Choice, double> LevelMedians(const CellTimes& cell);

// Whether the tables are of one call, whatever ranks and nodes: they may tell of each other.
bool SameCall(const TuningTable& a, const TuningTable& b);

}  // namespace hockney
