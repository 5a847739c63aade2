#include "bench/training/step_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/text_table.h"
#include "bench/training/step_options.h"

namespace hockney {
namespace {

std::string Ms(const std::optional<double>& ms) { return ms ? fmt::format("{:.2f}", *ms) : "-"; }

std::string Interval(const StepRow& row) {
  return row.step_ms_ci_low
             ? fmt::format("{:.2f}..{:.2f}", *row.step_ms_ci_low, *row.step_ms_ci_high)
             : "-";
}

}  // namespace

std::string StepTable(std::span<const StepCase> cases) {
  std::vector<std::vector<std::string>> table = {
      {"bucket cap", "buckets", "collectives", "step_ms", "95% interval", "compute_ms",
       "communication_ms", "hidden_ms", "exposed_ms", "tokens/s", "MFU", "status"}};
  for (const StepCase& each : cases) {
    const StepRow& row = each.row;
    std::string status(Name(row.status));
    if (!row.reason.empty()) status += ": " + row.reason;
    table.push_back({BucketCapText(row.bucket_cap_bytes), std::to_string(row.gradient_buckets),
                     std::to_string(row.collectives), Ms(row.step_ms_median), Interval(row),
                     Ms(row.compute_ms), Ms(row.communication_ms), Ms(row.hidden_ms),
                     Ms(row.exposed_ms),
                     row.tokens_per_s ? fmt::format("{:.0f}", *row.tokens_per_s) : "-",
                     row.mfu ? fmt::format("{:.1f}%", 100 * *row.mfu) : "-", status});
  }
  return FormatTable(table) +
         "compute_ms: the step without communication; communication_ms: without computing; "
         "exposed: step - compute; hidden: "
         "communication - exposed, below 0 where "
         "collectives take longer in the step than alone\n";
}

std::string BucketTable(const StepCase& step) {
  std::vector<std::vector<std::string>> table = {
      {"gradients", "bytes", "choice", "ready_ms", "begin_ms", "end_ms", "time_ms"}};
  for (std::size_t i = 0; i < step.graph.nodes.size(); ++i) {
    const StepNode& node = step.graph.nodes[i];
    if (!node.is_gradient || i >= step.times.size()) continue;
    double ready = 0;
    for (const int before : node.after) ready = std::max(ready, step.times[before].end);
    const NodeTime& time = step.times[i];
    table.push_back({node.name, std::to_string(SizeBytes(node)), step.calls->ChoiceOf(i),
                     fmt::format("{:.2f}", ready * 1e3), fmt::format("{:.2f}", time.start * 1e3),
                     fmt::format("{:.2f}", time.end * 1e3),
                     fmt::format("{:.2f}", (time.end - time.start) * 1e3)});
  }
  if (table.size() == 1) return "";
  return FormatTable(table);
}

}  // namespace hockney
