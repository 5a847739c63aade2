#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "bench/competitors.h"
#include "bench/exit_codes.h"

namespace hockney {

// What a sweep tells people while it runs; rank 0 has one. Calls come in the order Start, for each
// cell Add for every row and EndCell, Finish.
class Reporter {
 public:
  Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  virtual ~Reporter() = default;

  virtual void Start(const nlohmann::ordered_json& facts) = 0;
  virtual void Add(const Cell& cell, const Competitor& competitor) = 0;
  virtual void EndCell(const Cell& cell) = 0;
  // `rows`: all of this launch; `finished`: no signal cut it short. Returns kOk, or what the format
  // finds wrong beside the rows' status.
  virtual ExitCode Finish(std::span<const SweepRow> rows, bool finished) = 0;
};

}  // namespace hockney
