#include "bench/series_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/choice.h"
#include "bench/groups/rank_groups.h"
#include "bench/sizes.h"
#include "bench/sweep_report.h"
#include "bench/text_table.h"

namespace hockney {
namespace {

constexpr std::size_t kLeastLaunches = 5;

std::string FormatFactor(const Figure& figure) {
  if (figure.launches == 0) return "-";
  if (!figure.interval.confident) return fmt::format("{:.2f}x", figure.value);
  return fmt::format("{:.2f}x ({:.2f}..{:.2f})", figure.value, figure.interval.low,
                     figure.interval.high);
}

// What the cell is compared with: the first, where it has several; "" if it has none.
std::string FindBaseline(const CellRows& cell) {
  for (const auto& [choice, launches] : cell.by_choice) {
    const SweepRow& row = *launches.begin()->second;
    if (row.implementation == BaselineOf(row)) return choice;
  }
  return "";
}

// Adds the line of a cell and returns its launches; 0 and no line if it has none to report.
std::size_t AddLine(const CellRows& cell, const CellKey& key, const std::string& groups,
                    std::vector<std::vector<std::string>>& table) {
  const auto& [collective, ranks, oversubscribed, in_place, size] = key;
  const std::string best = ChooseBest(cell);
  const Figure time = best.empty() ? Figure() : MedianTime(cell, best);
  if (time.launches == 0) return 0;
  const std::string baseline = FindBaseline(cell);
  const Figure speed = baseline.empty() ? Figure() : SpeedOver(cell, best, baseline);
  std::string what(Name(collective));
  if (!groups.empty()) what += fmt::format(" group {}", GroupNumber(groups));
  table.push_back({what, FormatSize(size), in_place ? "in" : "out", best,
                   fmt::format("{:.2f}", time.value), FormatFactor(speed),
                   std::to_string(time.launches)});
  return time.launches;
}

}  // namespace

std::string SeriesReport(std::span<const SweepRow> rows) {
  std::vector<std::vector<std::string>> table = {{"collective", "size", "place", "choice",
                                                  "time_us", VersusBaseline(rows) + " (interval)",
                                                  "launches"}};
  std::size_t fewest = 0;
  // Groups at once, by their nodes.
  std::set<std::tuple<std::int64_t, std::string, bool>> parts;
  for (const SweepRow& row : rows) {
    parts.emplace(row.nodes.value_or(1), row.groups, row.memory_kind == "cuda");
  }
  for (const auto& [nodes, groups, on_gpus] : parts) {
    const RowFilter filter{.nodes = nodes, .groups = groups, .on_gpus = on_gpus};
    for (const auto& [key, cell] : GroupCells(rows, filter)) {
      const std::size_t launches = AddLine(cell, key, groups, table);
      if (launches > 0) fewest = fewest == 0 ? launches : std::min(fewest, launches);
    }
  }
  if (table.size() == 1) {
    return "\nno claim over launches: expected two or more, isolated, with refreshed buffers\n";
  }
  std::string text =
      "\nover launches: choice made on launches 1, 3, 5, ..., figures from the others; intervals "
      "by "
      "bootstrap over launches (of 5 they are smallest to largest and hold the median with 94 "
      "%)\n" +
      FormatTable(table);
  if (fewest < kLeastLaunches) {
    text += fmt::format("launches to report: {}, no claim; at least {} needed, --launches {}\n",
                        fewest, kLeastLaunches, 2 * kLeastLaunches);
  }
  return text;
}

}  // namespace hockney
