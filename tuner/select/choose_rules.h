#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/select/choose_table.h"
#include "tuner/select/modelled_table.h"
#include "tuner/select/predictor.h"

namespace hockney {

// What `hockney tune` is asked for.
struct TuneOptions {
  std::string implementation = {};     // rules of hockney, mpi or nccl alone; empty: of all
  std::vector<RankShape> shapes = {};  // also of these, where they were not measured
  Predictor predictor = {};            // of shapes that were not measured; empty: NearestShape
  RuleOptions rules = {};
};

// Returns the tables of everything that was measured (MeasuredTables), then, for every call that
// was measured somewhere, those of the shapes asked for, from the calibrated predictor. Rows of
// several runs count together. A shape of fewer ranks than nodes throws std::invalid_argument.
Tuning ChooseRules(std::span<const RunRecords> runs, const TuneOptions& options = {});

// The same from tables; `runs` stays empty.
Tuning ChooseRules(std::span<const MeasuredTable> tables, const TuneOptions& options,
                   Legality& legality);

}  // namespace hockney
