#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "tuner/model/model.h"
#include "tuner/records.h"

namespace hockney {

// What a run folder holds.
struct RunRecords {
  std::string path = {};
  nlohmann::ordered_json run = {};  // run.json, null if there is none
  std::vector<LinkRow> links = {};
  std::vector<SweepRow> sweep = {};
  std::vector<KernelRow> kernels = {};
};

// Reads links.csv, sweep.csv, kernels.csv and run.json of a folder, those that are there. Throws
// InputError, naming file and line, for what cannot be read, and for a folder with none of the CSV
// files.
RunRecords ReadRecords(const std::string& path);

// Whether a row tells how fast its choice is: measured right on refreshed buffers (imported logs do
// not say) by all ranks, from rank 0 where there is a root, with a time above 0.
bool CountsForModel(const SweepRow& row);

// Fits every level of the links, every choice of the sweeps that was measured right at three sizes
// or more, and every kernel. Rows of several runs count together. What cannot be fitted is told in
// Model::refused.
Model FitRuns(std::span<const RunRecords> runs);

}  // namespace hockney
