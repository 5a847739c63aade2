#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "collectives/types.h"

namespace hockney {

// What to run for sizes of one range, both ends included. Names are those of sweep.csv's columns,
// so a rule is the identity of rows.
struct TuningRule {
  std::uint64_t min_bytes = 0;  // of nccl-tests' size column
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
  std::string implementation = {};  // hockney, mpi, nccl
  std::string algorithm = {};       // with the levels of `hierarchical`, AlgorithmOf
  std::string protocol = {};
  std::optional<std::int64_t> lanes = {};
  std::string parameters = {};  // sorted key=value;...
  bool measured = true;         // false: the model says so, no row of this shape was measured
  bool tie = false;             // no better than another choice beyond noise
  std::optional<double> time_us = {};  // at the largest size of the range that is known
  std::optional<double> gain = {};     // time of the runner-up over time_us there
};

// The rules of one collective on one shape, ascending and without gaps.
struct TuningTable {
  Collective collective = Collective::kAllReduce;
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  std::string dtype = {};  // of the rows it was made of
  std::string op = {};
  std::string memory_kind = {};
  bool in_place = false;
  std::string mode = {};
  std::vector<TuningRule> rules = {};
};

// tuning.json: what `hockney tune` chose.
struct Tuning {
  static constexpr int kVersion = 1;  // of the schema, results/README.md
  std::vector<std::string> runs = {};
  std::vector<TuningTable> tables = {};
};

}  // namespace hockney
