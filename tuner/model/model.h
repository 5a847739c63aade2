#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/types.h"
#include "tuner/fit/piecewise.h"

namespace hockney {

// How far a fitted curve can be relied on, by what it told of points it had not seen.
enum class Confidence : std::uint8_t {
  kHigh,     // within 5 %, of 12 sizes or more
  kFair,     // within 15 %
  kLow,      // farther off
  kUnknown,  // too few sizes to hold some back
};
std::string_view Name(Confidence confidence);
Confidence ConfidenceOf(const PiecewiseFit& fit);

// What the links of one level were found to do. Rates in GB/s (1e9 bytes).
struct LevelModel {
  std::string level = {};  // LinkRow::level
  PiecewiseFit fit;        // of one message between one pair, one way
  // Time of both directions at once over that of one, median over sizes; the sizes.
  std::optional<double> duplex_ratio = {};
  std::size_t duplex_points = 0;
  // Pairs at once move min(all, pairs * one), the max-rate model; from the largest message that was
  // measured with several.
  struct Saturation {
    double one_GBps = 0;
    double all_GBps = 0;
    std::int64_t most_pairs = 1;
    std::size_t points = 0;
  };
  std::optional<Saturation> saturation = {};
  std::optional<double> gap_us = {};       // between small messages that follow each other
  std::optional<double> overhead_us = {};  // of the sender for one
};

// The times of one choice of a collective, by nccl-tests' size.
struct AlgorithmModel {
  Collective collective = Collective::kAllReduce;
  std::string variant = {};  // VariantOf
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  bool in_place = false;
  std::string memory_kind = {};
  std::string dtype = {};
  std::string op = {};  // empty where nothing is reduced
  std::string mode = {};
  PiecewiseFit fit;
};

// All that was fitted to some runs: model.json.
struct Model {
  static constexpr int kVersion = 1;  // of the schema, results/README.md
  std::vector<std::string> runs = {};
  std::vector<LevelModel> levels = {};
  std::vector<AlgorithmModel> algorithms = {};
  std::vector<std::string> refused = {};  // what could not be fitted, and why, a line each
};

// As model.json holds it; numbers that are not known are null.
nlohmann::ordered_json ModelJson(const Model& model);

}  // namespace hockney
