#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "tuner/select/regret.h"

namespace hockney {

struct SearchOptions {
  // A choice goes on after its first launch at a size if it is at most this much slower than the
  // fastest there; after later ones if it is at most half as much slower than that again, and among
  // the faster half.
  double drop = 0.05;
  // A choice is tried between two sizes if it is at most this much slower than the fastest at one
  // of them.
  double near = 0.3;
  // A choice is good enough that is at most this much slower than the fastest.
  double good = 0.1;
  std::size_t most_launches = 2;  // of one choice at one size
};

// Returns what a search would have measured of the table, had it asked for one time (of a choice,
// at a size, in a launch) after the other: first the smallest, the middle and the largest size with
// all choices; then, as long as no choice is good enough at both of two neighbours, the size in the
// middle between them, with those choices only that came near at either. At each size all are
// measured in the first launch and ever fewer in those that follow (successive halving). The
// table's own order of launches is theirs.
MeasuredTable SearchActively(const MeasuredTable& table, const SearchOptions& options = {});

// Times in the table.
std::size_t CountTimes(const MeasuredTable& table);

// What the search costs and gives.
struct SearchReport {
  std::size_t measured = 0;    // times asked for
  std::size_t exhaustive = 0;  // times there are
  Regret regret = {};          // of the rules it leads to, at all sizes

  double share() const {
    return exhaustive == 0 ? 0 : static_cast<double>(measured) / static_cast<double>(exhaustive);
  }
};

// Searches in the launches that tuning reads (SplitLaunches), scores in the others. Nothing counts
// in tables with fewer than two launches.
SearchReport ScoreSearch(std::span<const MeasuredTable> tables, const RuleOptions& rules,
                         const SearchOptions& options = {});

// What tuning.json says of it.
nlohmann::ordered_json SearchJson(const SearchReport& report);

}  // namespace hockney
