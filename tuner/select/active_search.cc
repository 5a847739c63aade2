#include "tuner/select/active_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hockney {
namespace {

using Choices = std::set<Choice>;

// Fastest first.
std::vector<std::pair<double, Choice>> InOrder(const CellTimes& cell, const Choices& choices) {
  std::vector<std::pair<double, Choice>> order;
  for (const auto& [choice, us] : LevelMedians(cell)) {
    if (choices.contains(choice)) order.emplace_back(us, choice);
  }
  std::sort(order.begin(), order.end());
  return order;
}

Choices AllOf(const CellTimes& cell) {
  Choices all;
  for (const auto& [choice, launches] : cell) all.insert(choice);
  return all;
}

class Search {
 public:
  Search(const MeasuredTable& table, const SearchOptions& options);
  MeasuredTable Run();

 private:
  const CellTimes& there(std::size_t i) const { return table_.cells.at(sizes_[i]); }
  const CellTimes& found(std::size_t i) const { return found_.cells.at(sizes_[i]); }
  void MeasureSize(std::size_t i, const Choices& wanted);
  Choices KeepFast(const CellTimes& cell, const Choices& going, double drop) const;
  Choices Near(std::size_t i, double more) const;
  bool HaveOneAnswer(std::size_t low, std::size_t high) const;
  void Bisect(std::size_t low, std::size_t high);

  const MeasuredTable& table_;
  SearchOptions options_;
  std::vector<std::uint64_t> sizes_;
  MeasuredTable found_;
};

Search::Search(const MeasuredTable& table, const SearchOptions& options)
    : table_(table), options_(options), found_{.key = table.key} {
  sizes_.reserve(table.cells.size());
  for (const auto& [bytes, cell] : table.cells) sizes_.push_back(bytes);
}

Choices Search::KeepFast(const CellTimes& cell, const Choices& going, double drop) const {
  const auto order = InOrder(cell, going);
  Choices kept;
  for (const auto& [us, choice] : order) {
    if (us <= (1 + drop) * order[0].first && kept.size() < (going.size() + 1) / 2) {
      kept.insert(choice);
    }
  }
  return kept;
}

void Search::MeasureSize(std::size_t i, const Choices& wanted) {
  std::set<LaunchId> launches;
  Choices going;
  for (const auto& [choice, times] : there(i)) {
    if (wanted.contains(choice)) going.insert(choice);
    for (const auto& [launch, time] : times) launches.insert(launch);
  }
  if (going.empty()) going = AllOf(there(i));  // none of them goes this far
  CellTimes& cell = found_.cells[sizes_[i]];
  double drop = options_.drop;
  std::size_t round = 0;
  for (const LaunchId& launch : launches) {
    if (round == options_.most_launches || (round > 0 && going.size() == 1)) break;
    for (const Choice& choice : going) {
      const auto& times = there(i).at(choice);
      const auto time = times.find(launch);
      if (time != times.end()) cell[choice][launch] = time->second;
    }
    const Choices kept = KeepFast(cell, going, drop);
    if (kept.empty()) continue;  // the launch has none of them
    going = kept;
    drop /= 2;
    ++round;
  }
}

// The choices that were at most `more` slower than the fastest.
Choices Search::Near(std::size_t i, double more) const {
  const auto order = InOrder(found(i), AllOf(found(i)));
  Choices near;
  for (const auto& [us, choice] : order) {
    if (us <= (1 + more) * order[0].first) near.insert(choice);
  }
  return near;
}

// Whether a choice is good enough at both.
bool Search::HaveOneAnswer(std::size_t low, std::size_t high) const {
  const Choices there = Near(high, options_.good);
  const Choices here = Near(low, options_.good);
  return std::any_of(here.begin(), here.end(),
                     [&](const Choice& choice) { return there.contains(choice); });
}

void Search::Bisect(std::size_t low, std::size_t high) {
  if (high - low < 2 || HaveOneAnswer(low, high)) return;
  const std::size_t middle = low + (high - low) / 2;
  Choices wanted = Near(low, options_.near);
  wanted.merge(Near(high, options_.near));
  MeasureSize(middle, wanted);
  Bisect(low, middle);
  Bisect(middle, high);
}

MeasuredTable Search::Run() {
  if (sizes_.empty()) return found_;
  const std::size_t last = sizes_.size() - 1;
  for (const std::size_t i : std::set<std::size_t>{0, last / 2, last})
    MeasureSize(i, AllOf(there(i)));
  Bisect(0, last / 2);
  Bisect(last / 2, last);
  return found_;
}

}  // namespace

MeasuredTable SearchActively(const MeasuredTable& table, const SearchOptions& options) {
  return Search(table, options).Run();
}

std::size_t CountTimes(const MeasuredTable& table) {
  std::size_t times = 0;
  for (const auto& [bytes, cell] : table.cells) {
    for (const auto& [choice, launches] : cell) times += launches.size();
  }
  return times;
}

SearchReport ScoreSearch(std::span<const MeasuredTable> tables, const RuleOptions& rules,
                         const SearchOptions& options) {
  SearchReport report;
  std::vector<std::optional<CellScore>> scores;
  for (const MeasuredTable& table : tables) {
    const LaunchSplit split = SplitLaunches(table);
    if (split.first.empty()) continue;
    const MeasuredTable all = Restrict(
        table, [](std::uint64_t) { return true; },
        [&](LaunchId launch) { return split.tuning.contains(launch); });
    const MeasuredTable found = SearchActively(all, options);
    report.measured += CountTimes(found);
    report.exhaustive += CountTimes(all);
    const TuningTable chosen[] = {ChooseTable(found, rules)};
    for (const auto& [bytes, cell] : table.cells) {
      if (cell.size() < 2) continue;
      const TuningRule* rule = FindRule(chosen, table.key, bytes);
      scores.push_back(rule == nullptr ? std::nullopt : ScoreCell(cell, split, ChoiceOf(*rule)));
    }
  }
  report.regret = Summarize("active search", scores);
  return report;
}

nlohmann::ordered_json SearchJson(const SearchReport& report) {
  if (report.exhaustive == 0) return nullptr;
  return {{"measured_times", report.measured},
          {"exhaustive_times", report.exhaustive},
          {"share", report.share()},
          {"regret", RegretJson(report.regret)}};
}

}  // namespace hockney
