#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/groups/split_rule.h"
#include "bench/reporter.h"
#include "bench/sweep_options.h"

namespace hockney {

// hockney's own table on stdout, cell by cell, and the fastest choice of each size in the end.
class TextReporter : public Reporter {
 public:
  explicit TextReporter(const SweepOptions& options) : options_(options) {}  // outlive this
  void Start(const nlohmann::ordered_json& facts) override;
  void Add(const Cell& cell, const Competitor& competitor) override;
  void EndCell(const Cell& cell) override;
  ExitCode Finish(std::span<const SweepRow> rows, bool finished) override;

 private:
  const SweepOptions& options_;
  GroupMembers groups_;  // empty: all ranks are one
  std::vector<SweepRow> cell_rows_;
  bool with_head_ = true;
};

}  // namespace hockney
