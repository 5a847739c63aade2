#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "tuner/records.h"
#include "tuner/statistics.h"

namespace hockney {

// What rows must share to be compared: collective, ranks, oversubscribed, in place, bytes.
using CellKey = std::tuple<Collective, std::int64_t, bool, bool, std::uint64_t>;

// The rows of a cell, by competitor ("mpi", or all that tells ours apart) and launch. Points into
// the rows it was made of.
struct CellRows {
  std::map<std::string, std::map<std::int64_t, const SweepRow*>> by_choice = {};
};

// Which rows are looked at.
struct RowFilter {
  std::string mode = "isolated";
  std::int64_t nodes = 1;
  std::string groups = {};  // SweepRow::groups
  bool on_gpus = false;
};

// Groups the rows that may be compared: measured, as the filter says, refreshed buffers, float32,
// sums. `rows` must outlive the result.
std::map<CellKey, CellRows> GroupCells(std::span<const SweepRow> rows,
                                       const RowFilter& filter = {});

// Returns our competitor with the best median over the launches 0, 2, 4, ..., empty if there is
// none; only of those whose name begins with `prefix`. Its figures come from the launches 1, 3, 5,
// ..., so that luck does not count.
std::string ChooseBest(const CellRows& cell, std::string_view prefix = "");

// What the launches to report say; no launch: nothing.
struct Figure {
  double value = 0;
  Interval interval = {};
  std::size_t launches = 0;
};

// How many times the time of `choice` the competitor `other` took, over the launches that have
// both.
Figure SpeedOver(const CellRows& cell, const std::string& choice, const std::string& other = "mpi");

// The median time of `choice` in microseconds, over the launches that have it.
Figure MedianTime(const CellRows& cell, const std::string& choice);

// The median bound_fraction of `choice`, over the launches that have it.
Figure ShareOfRoofline(const CellRows& cell, const std::string& choice);

}  // namespace hockney
