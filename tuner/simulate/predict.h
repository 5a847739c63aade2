#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/model/model.h"
#include "tuner/records/sweep_row.h"
#include "tuner/select/predictor.h"
#include "tuner/simulate/simulate.h"

namespace hockney {

// Ranks in block order over nodes, as even as they can be, and nodes over racks of `nodes_per_rack`
// (0: racks do not matter).
RankPlacement BlockPlacement(int ranks, int nodes, int nodes_per_rack = 0);

// The simulation that a row of hockney's own is a measurement of: its algorithm, lanes, slices and
// protocol. Throws std::invalid_argument for rows of other implementations, unknown algorithms and
// rows without count or type.
SimRequest RequestOfRow(const SweepRow& row);

// Says how long a choice of hockney's own would take on ranks in block order over nodes, from links
// alone, isolated; nothing for other implementations and what cannot run there. `model` is
// copied.
Predictor SimulatedPredictor(Model model, int nodes_per_rack);

// A predicted and a measured time of one choice.
struct PredictedRow {
  SweepRow row = {};       // of the first launch
  double measured_us = 0;  // median over launches
  double predicted_us = 0;
  double error() const { return predicted_us / measured_us - 1; }
};

struct PredictionReport {
  std::vector<PredictedRow> rows = {};
  std::vector<std::string> left_out = {};  // with the reason
  // Of rows from `gated_bytes` on: median and 95th percentile of |error|; nothing without rows.
  std::optional<double> median_error = {};
  std::optional<double> p95_error = {};
  std::size_t gated = 0;
};

// Predicts every row of hockney's own that was measured right, from links alone. A streamed call
// finds shapers' buckets empty, an isolated one as IsolatedRefillSeconds says.
PredictionReport PredictRows(const Model& model, std::span<const SweepRow> rows, int nodes_per_rack,
                             std::uint64_t gated_bytes);

}  // namespace hockney
