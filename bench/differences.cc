#include "bench/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "bench/sweep_report.h"
#include "tuner/rank_sum.h"

namespace hockney {
namespace {

std::string DescribeRow(const SweepRow& row) {
  std::string text =
      fmt::format("{} {} {} bytes", Name(row.collective), DescribeChoice(row), row.size_bytes);
  if (row.dtype) text += fmt::format(" {}", Name(*row.dtype));
  if (row.op) text += fmt::format(" {}", Name(*row.op));
  if (row.root) text += fmt::format(" root {}", *row.root);
  text += fmt::format(" {} {} {} ranks {}", row.mode, row.buffers, row.ranks, row.transport);
  if (row.in_place.value_or(false)) text += " in place";
  if (!row.groups.empty()) text += " group " + row.groups;
  return text;
}

// The medians of the launches, by row.
std::map<std::string, std::vector<double>> GroupMedians(std::span<const SweepRow> rows) {
  std::map<std::string, std::vector<double>> groups;
  for (const SweepRow& row : rows) {
    const bool timed = row.status == Status::kOk && row.time_us_median.value_or(0) > 0;
    if (timed) groups[DescribeRow(row)].push_back(*row.time_us_median);
  }
  return groups;
}

void RequireLaunches(const std::string& what, std::size_t launches) {
  if (launches >= kLeastComparedLaunches) return;
  throw std::invalid_argument(
      fmt::format("{}: launches in one of the runs: {}, expected at least {} (hockney sweep "
                  "--launches)",
                  what, launches, kLeastComparedLaunches));
}

// Holm: the smallest p-value is held against level / n, the next against level / (n - 1), and so on
// until the first that is too large.
void Claim(std::vector<Difference>& differences, double level) {
  std::vector<Difference*> order;
  order.reserve(differences.size());
  for (Difference& difference : differences) order.push_back(&difference);
  std::sort(order.begin(), order.end(),
            [](const Difference* a, const Difference* b) { return a->p_value < b->p_value; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i]->p_value > level / static_cast<double>(order.size() - i)) return;
    order[i]->claimed = true;
  }
}

}  // namespace

Comparison FindDifferences(std::span<const SweepRow> a, std::span<const SweepRow> b, double level) {
  const auto groups_a = GroupMedians(a);
  const auto groups_b = GroupMedians(b);
  Comparison comparison;
  for (const auto& [what, times_b] : groups_b) {
    if (!groups_a.contains(what)) comparison.only_b.push_back(what);
  }
  for (const auto& [what, times_a] : groups_a) {
    const auto other = groups_b.find(what);
    if (other == groups_b.end()) {
      comparison.only_a.push_back(what);
      continue;
    }
    RequireLaunches(what, std::min(times_a.size(), other->second.size()));
    comparison.differences.push_back({.what = what,
                                      .ratio = RatioOfGroups(times_a, other->second, level),
                                      .p_value = RankSumPValue(times_a, other->second),
                                      .launches_a = times_a.size(),
                                      .launches_b = other->second.size()});
  }
  if (comparison.differences.empty()) {
    throw std::invalid_argument("the runs have no row in common: they ran something else");
  }
  Claim(comparison.differences, level);
  return comparison;
}

}  // namespace hockney
