#pragma once

#include <cstdint>
#include <span>

#include "tuner/select/choose_table.h"
#include "tuner/select/legal.h"
#include "tuner/select/predictor.h"

namespace hockney {

// Ranks and nodes.
struct RankShape {
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;

  auto operator<=>(const RankShape&) const = default;
};

// `predictor`, times the median of measured over predicted time of the same choice of the same
// collective at sizes nearby on all shapes of `tables`, where both are there. By size, because what
// a model misses of latencies says nothing of rates.
Predictor Calibrate(Predictor predictor, std::span<const MeasuredTable> tables);

// What a choice takes on the measured shape that is nearest to the one asked for, of those where it
// was measured: the same number of nodes or at least several of them, then ranks a node, then
// ranks, by factors of two. Crude: it stands in where nothing else predicts. `tables` must outlive
// it.
Predictor NearestShape(std::span<const MeasuredTable> tables);

// Returns the table, all its rules with measured = false, of a shape that was not measured.
// `tables` are of one call (SameCall) on other shapes. Choices are those that any of them knows at
// a size or beside it, so far as they are legal here, and whose times `predictor` tells; where it
// tells none, NearestShape does. Empty rules if nothing is known.
TuningTable ModelledTable(std::span<const MeasuredTable> tables, RankShape shape,
                          const Predictor& predictor, Legality& legality,
                          const RuleOptions& options = {});

}  // namespace hockney
