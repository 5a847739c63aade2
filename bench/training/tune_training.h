#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/training/step_options.h"
#include "tuner/select/modelled_table.h"

namespace hockney {

// `hockney tune --training`, as typed.
struct TrainingTexts {
  std::string model;  // of the training; empty: not asked for
  StepTexts step;
  std::vector<std::string> runs;        // with step.csv, or none
  std::string fitted;                   // model.json
  std::optional<RankShape> shape = {};  // where no run says it
  std::string nodes_per_rack;
  std::string out;  // training.json; empty: in the first run
  std::vector<std::string> exports;
};

// Predicts the step for every bucket size, picks one and says what it gains and how far off
// predictions of measured steps were. Returns the exit code. Throws UsageError and InputError.
int TuneTraining(const TrainingTexts& texts);

}  // namespace hockney
