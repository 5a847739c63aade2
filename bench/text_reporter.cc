#include "bench/text_reporter.h"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/sweep_report.h"
#include "topology/topology.h"

namespace hockney {

void TextReporter::Start(const nlohmann::ordered_json& facts) {
  const auto ranks_per_host = facts["ranks_per_host"].get<std::vector<int>>();
  fmt::print("ranks {}, hosts {}, ranks per host {}\n", facts["rank_count"].get<int>(),
             ranks_per_host.size(), FormatRanksPerNode(ranks_per_host));
  std::fflush(stdout);
}

void TextReporter::Add(const Cell& /*cell*/, const Competitor& competitor) {
  cell_rows_.push_back(competitor.row);
}

void TextReporter::EndCell(const Cell& /*cell*/) {
  PrintRows(cell_rows_, with_head_);
  with_head_ = false;
  cell_rows_.clear();
}

ExitCode TextReporter::Finish(std::span<const SweepRow> rows, bool /*finished*/) {
  PrintFastest(rows);
  PrintLegend(rows, options_);
  return ExitCode::kOk;
}

}  // namespace hockney
