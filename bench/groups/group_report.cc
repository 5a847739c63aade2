#include "bench/groups/group_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <vector>

#include "bench/choice.h"
#include "bench/groups/rank_groups.h"
#include "bench/sizes.h"
#include "bench/sweep_report.h"
#include "bench/text_table.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

constexpr std::size_t kMostListedGroups = 16;

// What rows of all groups share.
auto CellOf(const SweepRow& row) {
  return std::make_tuple(row.collective, row.dtype, row.op, row.root, row.in_place, row.count,
                         row.graph);
}

// The rows of one competitor in all groups.
using ByGroup = std::vector<const SweepRow*>;
// In the order in which the cells were measured.
struct GroupedCell {
  std::map<std::string, ByGroup> by_variant = {};
};

std::vector<GroupedCell> CollectCells(std::span<const SweepRow> rows) {
  std::vector<GroupedCell> cells;
  std::map<decltype(CellOf(SweepRow{})), std::size_t> place_of;
  for (const SweepRow& row : rows) {
    if (row.status != Status::kOk || !row.time_us_median) continue;
    const auto [place, is_new] = place_of.try_emplace(CellOf(row), cells.size());
    if (is_new) cells.emplace_back();
    cells[place->second].by_variant[VariantOf(row)].push_back(&row);
  }
  return cells;
}

const SweepRow& Slowest(const ByGroup& rows) {
  return **std::max_element(rows.begin(), rows.end(), [](const SweepRow* a, const SweepRow* b) {
    return *a->time_us_median < *b->time_us_median;
  });
}

double FastestUs(const ByGroup& rows) {
  double fastest = *rows.front()->time_us_median;
  for (const SweepRow* row : rows) fastest = std::min(fastest, *row->time_us_median);
  return fastest;
}

std::vector<std::string> LineOf(const GroupedCell& cell, const GroupMembers& groups) {
  const ByGroup* best = nullptr;
  std::optional<double> baseline;
  for (const auto& [variant, by_group] : cell.by_variant) {
    if (by_group.size() < groups.size()) continue;  // some group's row failed
    const double time = *Slowest(by_group).time_us_median;
    const bool is_baseline = by_group[0]->implementation == BaselineOf(*by_group[0]);
    if (is_baseline && !baseline) baseline = time;
    if (best == nullptr || time < *Slowest(*best).time_us_median) best = &by_group;
  }
  if (best == nullptr) return {};
  const SweepRow& slowest = Slowest(*best);
  const int group = GroupNumber(slowest.groups);
  return {std::string(Name(slowest.collective)),
          FormatSize(slowest.size_bytes),
          slowest.in_place.value_or(false) ? "in" : "out",
          DescribeChoice(slowest),
          fmt::format("{:.2f}", *slowest.time_us_median),
          slowest.busbw_GBps ? fmt::format("{:.3f}", *slowest.busbw_GBps) : "-",
          baseline ? fmt::format("{:.2f}x", *baseline / *slowest.time_us_median) : "-",
          fmt::format("{} (ranks {})", group, FormatCpuList(groups[group])),
          fmt::format("{:.2f}x", *slowest.time_us_median / FastestUs(*best))};
}

}  // namespace

GroupMembers ReadGroups(const nlohmann::ordered_json& facts) {
  const auto& groups = facts["groups"];
  return groups.is_object() ? groups["ranks"].get<GroupMembers>() : GroupMembers();
}

std::string DescribeGroups(const nlohmann::ordered_json& facts) {
  const GroupMembers groups = ReadGroups(facts);
  if (groups.empty()) return "";
  std::string text = fmt::format("groups {}, by {}, all at once:", groups.size(),
                                 facts["groups"]["split"].get<std::string>());
  for (std::size_t group = 0; group < std::min(groups.size(), kMostListedGroups); ++group) {
    text +=
        fmt::format("{} {} (ranks {})", group == 0 ? "" : ",", group, FormatCpuList(groups[group]));
  }
  return text + (groups.size() > kMostListedGroups ? ", ...\n" : "\n");
}

std::string FastestOfGroups(std::span<const SweepRow> rows, const GroupMembers& groups) {
  std::vector<std::vector<std::string>> table = {{"collective", "size", "place", "choice",
                                                  "time_us", "busbw", VersusBaseline(rows),
                                                  "slowest group", "to fastest"}};
  for (const GroupedCell& cell : CollectCells(rows)) {
    const auto line = LineOf(cell, groups);
    if (!line.empty()) table.push_back(line);
  }
  if (table.size() == 1) return "";
  return "\nfastest choice of each size, by the slowest group's median, which all wait for; to "
         "fastest: times the fastest group's\n" +
         FormatTable(table);
}

}  // namespace hockney
