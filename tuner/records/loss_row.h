#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tuner/records/table.h"

namespace hockney {

// One row of loss.csv: a step of a training. Members are named as the columns.
struct LossRow {
  std::int64_t step = 0;  // from 1
  double loss = 0;        // mean squared error of the global batch, before the step's update
  // The same where one rank trains alone with the same batches; nothing where none did.
  std::optional<double> one_rank_loss = {};

  static std::span<const Column<LossRow>> Columns();
  bool operator==(const LossRow&) const = default;
};

}  // namespace hockney
