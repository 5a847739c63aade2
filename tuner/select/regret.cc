#include "tuner/select/regret.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tuner/select/fixed_table.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;
using Scores = std::vector<std::optional<CellScore>>;

constexpr std::size_t kShapesToHoldOut = 3;
constexpr std::size_t kWorstCells = 10;  // of tuning.json

// Which tables tuning does not see at all: of each call with enough shapes the second of three.
std::vector<bool> HeldOutShapes(std::span<const MeasuredTable> tables) {
  std::vector<bool> held_out(tables.size(), false);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::size_t before = 0;
    std::size_t all = 0;
    for (std::size_t k = 0; k < tables.size(); ++k) {
      if (!SameCall(tables[k].key, tables[i].key)) continue;
      ++all;
      if (k < i) ++before;
    }
    held_out[i] = all >= kShapesToHoldOut && before % kShapesToHoldOut == 1;
  }
  return held_out;
}

std::set<std::uint64_t> SizesToSee(const MeasuredTable& table) {
  std::set<std::uint64_t> seen;
  std::size_t number = 0;
  for (const auto& [bytes, cell] : table.cells) {
    if (number++ % 2 == 0) seen.insert(bytes);
  }
  if (!table.cells.empty()) seen.insert(table.cells.rbegin()->first);
  return seen;
}

// What the libraries do when nobody tells them.
std::optional<Choice> LibraryChoice(const CellTimes& cell) {
  for (const auto& [choice, launches] : cell) {
    if (choice.implementation != "hockney" && choice.algorithm == "default") return choice;
  }
  return std::nullopt;
}

// Scores one method after the other, cell by cell.
class Scorer {
 public:
  Scorer(std::span<const MeasuredTable> tables, const TuneOptions& options, Legality& legality);
  void ScoreTable(const MeasuredTable& table, bool is_held_out);
  RegretReport Report();

 private:
  void ScoreTuner(const MeasuredTable& table, std::uint64_t bytes, const LaunchSplit& split,
                  Knowledge knowledge);

  std::vector<TuningTable> chosen_;
  Scores tuner_;
  Scores library_;
  Scores ring_;
  Scores fixed_;
  std::map<Knowledge, Scores> by_knowledge_;
  RegretReport report_;
};

Scorer::Scorer(std::span<const MeasuredTable> tables, const TuneOptions& options,
               Legality& legality) {
  const std::vector<bool> held_out = HeldOutShapes(tables);
  std::vector<MeasuredTable> seen;
  TuneOptions of_tuner = options;
  of_tuner.shapes.clear();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (held_out[i]) {
      of_tuner.shapes.push_back({tables[i].key.ranks, tables[i].key.nodes});
      continue;
    }
    const std::set<std::uint64_t> sizes = SizesToSee(tables[i]);
    const LaunchSplit split = SplitLaunches(tables[i]);
    seen.push_back(Restrict(
        tables[i], [&](std::uint64_t bytes) { return sizes.contains(bytes); },
        [&](LaunchId launch) { return split.tuning.contains(launch); }));
  }
  chosen_ = ChooseRules(seen, of_tuner, legality).tables;
}

void Scorer::ScoreTuner(const MeasuredTable& table, std::uint64_t bytes, const LaunchSplit& split,
                        Knowledge knowledge) {
  const TuningRule* rule = FindRule(chosen_, table.key, bytes);
  std::optional<CellScore> score;
  if (rule != nullptr) score = ScoreCell(table.cells.at(bytes), split, ChoiceOf(*rule));
  tuner_.push_back(score);
  by_knowledge_[knowledge].push_back(score);
  if (!score) return;
  report_.cells.push_back({.key = table.key,
                           .bytes = bytes,
                           .knowledge = knowledge,
                           .choice = ChoiceOf(*rule),
                           .score = *score});
}

void Scorer::ScoreTable(const MeasuredTable& table, bool is_held_out) {
  const LaunchSplit split = SplitLaunches(table);
  if (split.first.empty()) return;
  if (split.second.empty()) report_.has_halves = false;
  const std::set<std::uint64_t> seen = SizesToSee(table);
  for (const auto& [bytes, cell] : table.cells) {
    if (cell.size() < 2) continue;
    const Knowledge knowledge = is_held_out            ? Knowledge::kCall
                                : seen.contains(bytes) ? Knowledge::kSize
                                                       : Knowledge::kShape;
    ScoreTuner(table, bytes, split, knowledge);
    const auto score = [&cell = cell, &split](const std::optional<Choice>& choice) {
      return choice ? ScoreCell(cell, split, *choice) : std::nullopt;
    };
    library_.push_back(score(LibraryChoice(cell)));
    ring_.push_back(score(PlainChoice(cell, "ring")));
    fixed_.push_back(score(FixedChoice(table.key.collective, bytes, cell)));
  }
}

RegretReport Scorer::Report() {
  if (tuner_.empty()) return report_;
  report_.methods = {Summarize("tuner", tuner_), Summarize("library default", library_),
                     Summarize("ring", ring_), Summarize("fixed table", fixed_)};
  for (const auto& [knowledge, scores] : by_knowledge_) {
    report_.by_knowledge.push_back(Summarize(std::string(Name(knowledge)), scores));
  }
  std::stable_sort(
      report_.cells.begin(), report_.cells.end(),
      [](const ScoredCell& a, const ScoredCell& b) { return a.score.regret > b.score.regret; });
  return report_;
}

Json CellJson(const ScoredCell& cell) {
  return {{"collective", Name(cell.key.collective)},
          {"ranks", cell.key.ranks},
          {"nodes", cell.key.nodes},
          {"size_bytes", cell.bytes},
          {"knowledge", Name(cell.knowledge)},
          {"choice", Describe(cell.choice)},
          {"best", Describe(cell.score.best)},
          {"regret", cell.score.regret},
          {"within_noise", cell.score.within_noise}};
}

}  // namespace

std::string_view Name(Knowledge knowledge) {
  switch (knowledge) {
    case Knowledge::kSize:
      return "size seen";
    case Knowledge::kShape:
      return "size unseen";
    case Knowledge::kCall:
      return "shape unseen";
  }
  return "";
}

RegretReport ScoreRegret(std::span<const MeasuredTable> tables, const TuneOptions& options,
                         Legality& legality) {
  Scorer scorer(tables, options, legality);
  const std::vector<bool> held_out = HeldOutShapes(tables);
  for (std::size_t i = 0; i < tables.size(); ++i) scorer.ScoreTable(tables[i], held_out[i]);
  RegretReport report = scorer.Report();
  report.reduced_proofs = legality.reduced();
  return report;
}

const TuningRule* FindRule(std::span<const TuningTable> tables, const TuningTable& key,
                           std::uint64_t bytes) {
  for (const TuningTable& table : tables) {
    if (!SameCall(table, key) || table.ranks != key.ranks || table.nodes != key.nodes) continue;
    for (const TuningRule& rule : table.rules) {
      if (bytes >= rule.min_bytes && bytes <= rule.max_bytes) return &rule;
    }
  }
  return nullptr;
}

Json RegretJson(const Regret& regret) {
  return {{"method", regret.method},
          {"cells", regret.cells},
          {"left_out", regret.left_out},
          {"within_noise", regret.within_noise},
          {"mean", regret.mean},
          {"p95", regret.p95},
          {"max", regret.max}};
}

Json RegretJson(const RegretReport& report) {
  if (report.methods.empty()) return nullptr;
  Json json = {{"has_halves", report.has_halves},
               {"methods", Json::array()},
               {"by_knowledge", Json::array()},
               {"worst_cells", Json::array()}};
  for (const Regret& regret : report.methods) json["methods"].push_back(RegretJson(regret));
  for (const Regret& regret : report.by_knowledge) {
    json["by_knowledge"].push_back(RegretJson(regret));
  }
  for (std::size_t i = 0; i < std::min(kWorstCells, report.cells.size()); ++i) {
    json["worst_cells"].push_back(CellJson(report.cells[i]));
  }
  return json;
}

}  // namespace hockney
