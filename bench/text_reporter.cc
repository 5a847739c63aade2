#include "bench/text_reporter.h"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/groups/group_report.h"
#include "bench/sweep_report.h"
#include "bench/tuned_report.h"
#include "topology/topology.h"

namespace hockney {

void TextReporter::Start(const nlohmann::ordered_json& facts) {
  const auto ranks_per_host = facts["ranks_per_host"].get<std::vector<int>>();
  fmt::print("ranks {}, hosts {}, ranks per host {}\n", facts["rank_count"].get<int>(),
             ranks_per_host.size(), FormatRanksPerNode(ranks_per_host));
  groups_ = ReadGroups(facts);
  fmt::print("{}", DescribeGroups(facts));
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
  if (groups_.empty()) {
    PrintFastest(rows);
    fmt::print("{}", TunedReport(rows));
  } else {
    fmt::print("{}", FastestOfGroups(rows, groups_));
  }
  PrintLegend(rows, options_);
  return ExitCode::kOk;
}

}  // namespace hockney
