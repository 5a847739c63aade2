#include "bench/export_gain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bench/sizes.h"
#include "bench/text_table.h"
#include "collectives/baselines/mpi/mpi_algorithms.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::size_t kUsualLaunches = 5;  // below which an interval is not of 95 %

constexpr char kHead[] =
    "# Open MPI with exported rules, over its own choice\n\n"
    "gain: time without the rules over time with them, so above 1 the rules are faster; medians "
    "over launches with the bootstrap\ninterval (95 %; of 5 launches 94 %), launches of both kinds "
    "in turn. Means are geometric, over sizes.\n\n";

// What rows of both kinds must share.
using Cell = std::tuple<Collective, std::int64_t, bool, std::uint64_t>;

Cell CellOf(const SweepRow& row) {
  return {row.collective, row.ranks, row.in_place.value_or(false), row.size_bytes};
}

bool IsCompared(const SweepRow& row) {
  return row.implementation == "mpi" && row.algorithm == "default";
}

using Times = std::map<Cell, std::map<std::int64_t, double>>;

// Median times by cell and launch.
Times TimesOf(std::span<const SweepRow> rows, const char* kind, std::vector<std::string>* notes) {
  Times times;
  for (const SweepRow& row : rows) {
    if (!IsCompared(row)) continue;
    if (row.status == Status::kOk && row.time_us_median) {
      times[CellOf(row)][row.launch] = *row.time_us_median;
      continue;
    }
    notes->push_back(fmt::format("{}, {} of {} in launch {}: {}: {}", kind, Name(row.collective),
                                 FormatSize(row.size_bytes), row.launch, Name(row.status),
                                 row.reason));
  }
  return times;
}

// Times of one cell in the launches that have both, or of several together.
struct Pair {
  std::vector<double> defaults = {};
  std::vector<double> exported = {};

  Ratio Gain() const {
    std::vector<LaunchSamples> launches;
    launches.reserve(defaults.size());
    for (std::size_t i = 0; i < defaults.size(); ++i) {
      launches.push_back({{&defaults[i], 1}, {&exported[i], 1}});
    }
    return RatioOfMedians(launches);
  }
};

Pair PairOf(const std::map<std::int64_t, double>& defaults,
            const std::map<std::int64_t, double>& exported) {
  Pair pair;
  for (const auto& [launch, time] : defaults) {
    const auto beside = exported.find(launch);
    if (beside == exported.end()) continue;
    pair.defaults.push_back(time);
    pair.exported.push_back(beside->second);
  }
  return pair;
}

// The geometric means over cells, launch by launch; empty unless all have the same launches.
Pair MeanOf(const std::vector<Pair>& cells) {
  Pair mean;
  const std::size_t launches = cells[0].defaults.size();
  for (const Pair& cell : cells) {
    if (cell.defaults.size() != launches) return {};
  }
  const auto count = static_cast<double>(cells.size());
  for (std::size_t i = 0; i < launches; ++i) {
    double defaults = 0;
    double exported = 0;
    for (const Pair& cell : cells) {
      defaults += std::log(cell.defaults[i]) / count;
      exported += std::log(cell.exported[i]) / count;
    }
    mean.defaults.push_back(std::exp(defaults));
    mean.exported.push_back(std::exp(exported));
  }
  return mean;
}

std::string RuleOf(const OmpiRules& rules, const Cell& cell) {
  const auto& [collective, ranks, in_place, size] = cell;
  const auto id = OmpiIdOf(collective);
  const OmpiMessageRule* rule = id ? FindOmpiRule(rules, *id, ranks, size) : nullptr;
  if (rule == nullptr || rule->algorithm == 0) return "its own choice";
  for (const MpiAlgorithm& algorithm : AllMpiAlgorithms()) {
    if (algorithm.family == MpiFamily::kOpenMpi && algorithm.collective == collective &&
        algorithm.id == rule->algorithm) {
      return std::string(algorithm.name);
    }
  }
  return fmt::format("algorithm {}", rule->algorithm);
}

std::string FormatInterval(const Interval& interval) {
  return fmt::format("{:.3f}..{:.3f}", interval.low, interval.high);
}

const char* VerdictOf(const Interval& interval) {
  if (interval.low > 1) return "faster";
  return interval.high < 1 ? "slower" : "not told apart";
}

void AddMean(const std::string& what, const std::vector<Pair>& cells, std::string* text) {
  const Pair mean = MeanOf(cells);
  if (mean.defaults.empty()) {
    *text += fmt::format("mean of {}: none, sizes differ in their launches\n", what);
    return;
  }
  const Ratio gain = mean.Gain();
  *text += fmt::format("mean of {}: {:.3f} ({}), {} sizes\n", what, gain.value,
                       FormatInterval(gain.interval), cells.size());
}

}  // namespace

GainReport ReportExportGain(std::span<const SweepRow> defaults, std::span<const SweepRow> exported,
                            const OmpiRules& rules) {
  std::vector<std::string> notes;
  const Times without = TimesOf(defaults, "without the rules", &notes);
  const Times with = TimesOf(exported, "with the rules", &notes);
  std::vector<std::vector<std::string>> table = {{"collective", "ranks", "size", "rule",
                                                  "without, us", "with, us", "gain", "interval",
                                                  "verdict", "launches"}};
  std::map<Collective, std::vector<Pair>> pairs;
  std::vector<Pair> all;
  bool unsure = false;
  for (const auto& [cell, launches] : without) {
    const auto beside = with.find(cell);
    if (beside == with.end()) continue;
    const Pair pair = PairOf(launches, beside->second);
    if (pair.defaults.empty()) continue;
    const auto& [collective, ranks, in_place, size] = cell;
    const Ratio gain = pair.Gain();
    unsure = unsure || pair.defaults.size() < kUsualLaunches;
    table.push_back({fmt::format("{}{}", Name(collective), in_place ? " in place" : ""),
                     std::to_string(ranks), FormatSize(size), RuleOf(rules, cell),
                     fmt::format("{:.2f}", Median(pair.defaults)),
                     fmt::format("{:.2f}", Median(pair.exported)),
                     fmt::format("{:.3f}", gain.value), FormatInterval(gain.interval),
                     VerdictOf(gain.interval), std::to_string(pair.defaults.size())});
    pairs[collective].push_back(pair);
    all.push_back(pair);
  }
  GainReport report{.text = kHead, .cells_compared = all.size()};
  if (all.empty()) return report;
  report.text += FormatMarkdownTable(table) + "\n";
  for (const auto& [collective, cells] : pairs) {
    AddMean(std::string(Name(collective)), cells, &report.text);
  }
  AddMean("all", all, &report.text);
  if (unsure) notes.insert(notes.begin(), "intervals of fewer than 5 launches are not of 95 %");
  for (const std::string& note : notes) report.text += fmt::format("- {}\n", note);
  return report;
}

std::vector<Collective> CollectivesOf(const OmpiRules& rules) {
  std::vector<Collective> collectives;
  for (const Collective collective : kAllCollectives) {
    const auto id = OmpiIdOf(collective);
    const bool has = id && std::any_of(rules.begin(), rules.end(),
                                       [&](const auto& entry) { return entry.id == *id; });
    if (has) collectives.push_back(collective);
  }
  return collectives;
}

}  // namespace hockney
