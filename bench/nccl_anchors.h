#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/types.h"
#include "tuner/nccl/predict.h"

namespace hockney {

// A published measurement of NCCL, to set a prediction beside. None was used for a preset's number
// or for a constant of the model.
struct NcclAnchor {
  std::string cluster = {};  // a preset
  std::string source = {};
  Collective collective = Collective::kAllReduce;
  std::int64_t ranks = 0;
  std::uint64_t bytes = 0;
  bool nvls = true;
  double busbw_GBps = 0;
  double time_us = 0;  // instead, where a time was published
};

struct NcclComparison {
  NcclAnchor anchor = {};
  nccl::Prediction prediction = {};
  double busbw_GBps = 0;  // predicted
  double error = 0;       // of it, or of the time, over the published one

  // Large enough that the model is held to it.
  bool is_gated() const;
  bool is_met() const;
};

// Every published figure that we know, in the order of the table.
std::vector<NcclComparison> CompareNcclAnchors();

// The same as a table for people, with what the figures are and are not.
std::string NcclAnchorTable();

}  // namespace hockney
