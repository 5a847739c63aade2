#include "bench/choice.h"

#include <fmt/format.h>

#include <limits>
#include <utility>
#include <vector>

#include "bench/sweep_report.h"

namespace hockney {
namespace {

CellKey KeyOf(const SweepRow& row) {
  return {row.collective, row.ranks, row.oversubscribed.value_or(false),
          row.in_place.value_or(false), row.size_bytes};
}

std::string ChoiceOf(const SweepRow& row) {
  if (row.implementation != "hockney") return DescribeChoice(row);
  return fmt::format("{} {} x{} {}", AlgorithmOf(row), row.protocol, row.lanes.value_or(1),
                     FindParameter(row, "store"));
}

bool IsCompared(const SweepRow& row, const RowFilter& filter) {
  return row.status == Status::kOk && row.time_us_median && row.mode == filter.mode &&
         row.nodes.value_or(1) == filter.nodes && row.groups == filter.groups &&
         (row.memory_kind == "cuda") == filter.on_gpus && !row.graph &&
         row.buffers == "refreshed" && row.dtype == DataType::kFloat32 &&
         row.op.value_or(ReduceOp::kSum) == ReduceOp::kSum;
}

bool IsToChoose(std::int64_t launch) { return launch % 2 == 0; }

double MedianToChoose(const std::map<std::int64_t, const SweepRow*>& launches) {
  std::vector<double> times;
  for (const auto& [launch, row] : launches) {
    if (IsToChoose(launch)) times.push_back(*row->time_us_median);
  }
  return times.empty() ? std::numeric_limits<double>::infinity() : Median(times);
}

// The median of numerator / denominator, a pair a launch.
Figure MedianQuotient(const std::vector<std::pair<double, double>>& pairs) {
  if (pairs.empty()) return {};
  std::vector<LaunchSamples> launches;
  launches.reserve(pairs.size());
  for (const auto& [a, b] : pairs) launches.push_back({{&a, 1}, {&b, 1}});
  const Ratio ratio = RatioOfMedians(launches);
  return {.value = ratio.value, .interval = ratio.interval, .launches = launches.size()};
}

}  // namespace

std::map<CellKey, CellRows> GroupCells(std::span<const SweepRow> rows, const RowFilter& filter) {
  std::map<CellKey, CellRows> cells;
  for (const SweepRow& row : rows) {
    if (IsCompared(row, filter)) cells[KeyOf(row)].by_choice[ChoiceOf(row)][row.launch] = &row;
  }
  return cells;
}

std::string ChooseBest(const CellRows& cell, std::string_view prefix) {
  std::string best;
  double best_time = std::numeric_limits<double>::infinity();
  for (const auto& [choice, launches] : cell.by_choice) {
    const bool is_ours = launches.begin()->second->implementation == "hockney";
    if (!is_ours || !choice.starts_with(prefix) || MedianToChoose(launches) >= best_time) continue;
    best_time = MedianToChoose(launches);
    best = choice;
  }
  return best;
}

Figure SpeedOver(const CellRows& cell, const std::string& choice, const std::string& other) {
  const auto others = cell.by_choice.find(other);
  if (others == cell.by_choice.end()) return {};
  std::vector<std::pair<double, double>> medians;
  for (const auto& [launch, row] : cell.by_choice.at(choice)) {
    const auto beside = others->second.find(launch);
    if (IsToChoose(launch) || beside == others->second.end()) continue;
    medians.emplace_back(*beside->second->time_us_median, *row->time_us_median);
  }
  return MedianQuotient(medians);
}

Figure MedianTime(const CellRows& cell, const std::string& choice) {
  std::vector<std::pair<double, double>> times;
  for (const auto& [launch, row] : cell.by_choice.at(choice)) {
    if (!IsToChoose(launch)) times.emplace_back(*row->time_us_median, 1);
  }
  return MedianQuotient(times);
}

Figure ShareOfRoofline(const CellRows& cell, const std::string& choice) {
  std::vector<std::pair<double, double>> fractions;
  for (const auto& [launch, row] : cell.by_choice.at(choice)) {
    if (!IsToChoose(launch) && row->bound_fraction) fractions.emplace_back(*row->bound_fraction, 1);
  }
  return MedianQuotient(fractions);
}

}  // namespace hockney
