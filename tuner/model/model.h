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

// A figure that several rows agree on more or less.
struct Measured {
  double value = 0;
  std::size_t points = 0;  // rows
  // Half the width of what it may be, over its value: of the rows' intervals and of what they
  // differ by the wider; NaN where no row has an interval.
  double spread = 0;
};
// By its spread: 5 % is high, 15 % is fair.
Confidence ConfidenceOf(const Measured& figure);

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

// What a pass of a local kernel costs on the host of rank 0, per byte of one operand (KernelRow).
struct KernelModel {
  std::string kernel = {};  // copy, sum
  DataType dtype = DataType::kUint8;
  std::string size_class = {};                    // l2, llc, memory
  std::string store = {};                         // cached, non_temporal
  std::optional<Measured> seconds_per_byte = {};  // of one rank alone
  // Of the sum over the copy of the same class and store: gamma.
  std::optional<Measured> gamma_seconds_per_byte = {};
  // Bytes read and written a second, 1e9 of them, by `node_ranks` ranks at once: the most measured.
  std::optional<Measured> node_GBps = {};
  std::int64_t node_ranks = 1;
};

// All that was fitted to some runs: model.json.
struct Model {
  static constexpr std::string_view kSchema = "hockney-model";
  static constexpr int kVersion = 1;  // of the schema, results/README.md
  std::vector<std::string> runs = {};
  std::vector<LevelModel> levels = {};
  std::vector<AlgorithmModel> algorithms = {};
  std::vector<KernelModel> kernels = {};
  std::vector<std::string> refused = {};  // what could not be fitted, and why, a line each
};

// As model.json holds it; numbers that are not known are null.
nlohmann::ordered_json ModelJson(const Model& model);

// Reads what ModelJson wrote. Every key must be there, null where that is allowed; unknown ones are
// left out. Throws InputError naming the file and the key, or line and column, for what is no such
// model.
Model ReadModel(const std::string& path);

}  // namespace hockney
