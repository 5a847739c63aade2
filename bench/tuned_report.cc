#include "bench/tuned_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "bench/sizes.h"
#include "bench/sweep_report.h"
#include "bench/text_table.h"
#include "bench/tuned_choices.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

bool IsTimed(const SweepRow& row) {
  return row.status == Status::kOk && row.time_us_median.value_or(0) > 0 && !row.graph;
}

auto CellOf(const SweepRow& row) {
  return std::tie(row.collective, row.dtype, row.op, row.root, row.in_place, row.size_bytes,
                  row.count, row.mode);
}

const SweepRow& FastestBeside(std::span<const SweepRow> rows, const SweepRow& tuned) {
  const SweepRow* fastest = &tuned;
  for (const SweepRow& row : rows) {
    if (!IsTimed(row) || CellOf(row) != CellOf(tuned)) continue;
    if (*row.time_us_median < *fastest->time_us_median) fastest = &row;
  }
  return *fastest;
}

}  // namespace

std::string TunedReport(std::span<const SweepRow> rows) {
  std::vector<std::vector<std::string>> table = {
      {"collective", "size", "place", "tuned", "time_us", "fastest", "fastest_us", "slower by"}};
  std::vector<double> slower;
  std::size_t fallbacks = 0;
  for (const SweepRow& row : rows) {
    if (!row.requested_algorithm.starts_with(kTunedMark) || !IsTimed(row)) continue;
    const SweepRow& best = FastestBeside(rows, row);
    slower.push_back(*row.time_us_median / *best.time_us_median - 1);
    const bool is_fallback = row.reason.starts_with("fallback");
    if (is_fallback) ++fallbacks;
    table.push_back({std::string(Name(row.collective)), FormatSize(row.size_bytes),
                     row.in_place.value_or(false) ? "in" : "out",
                     DescribeChoice(row) + (is_fallback ? " (fallback)" : ""),
                     fmt::format("{:.2f}", *row.time_us_median), DescribeChoice(best),
                     fmt::format("{:.2f}", *best.time_us_median),
                     fmt::format("{:.1f} %", 100 * slower.back())});
  }
  if (slower.empty()) return "";
  return fmt::format(
      "\ntuned choices beside the fastest row of this launch, whose luck counts\n{}"
      "slower than the fastest: mean {:.1f} %, p95 {:.1f} % over {} sizes; fallbacks: {}\n",
      FormatTable(table), 100 * Mean(slower), 100 * Quantile(slower, 0.95), slower.size(),
      fallbacks);
}

}  // namespace hockney
