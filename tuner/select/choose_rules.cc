#include "tuner/select/choose_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace hockney {
namespace {

bool HasShape(const TuningTable& table, RankShape shape) {
  return table.ranks == shape.ranks && table.nodes == shape.nodes;
}

// The tables of one call, the first of which is at `first`; none if an earlier one is of it, too.
std::vector<MeasuredTable> OfOneCall(std::span<const MeasuredTable> tables, std::size_t first) {
  std::vector<MeasuredTable> same;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!SameCall(tables[i].key, tables[first].key)) continue;
    if (i < first) return {};
    same.push_back(tables[i]);
  }
  return same;
}

void AddModelled(std::span<const MeasuredTable> tables, const TuneOptions& options,
                 Legality& legality, Tuning& tuning) {
  const Predictor predictor = Calibrate(options.predictor, tables);
  for (std::size_t first = 0; first < tables.size(); ++first) {
    const std::vector<MeasuredTable> same = OfOneCall(tables, first);
    if (same.empty()) continue;
    for (const RankShape& shape : options.shapes) {
      const bool measured = std::any_of(same.begin(), same.end(), [&](const MeasuredTable& table) {
        return HasShape(table.key, shape);
      });
      if (measured) continue;
      TuningTable table = ModelledTable(same, shape, predictor, legality, options.rules);
      if (!table.rules.empty()) tuning.tables.push_back(std::move(table));
    }
  }
}

}  // namespace

Tuning ChooseRules(std::span<const MeasuredTable> tables, const TuneOptions& options,
                   Legality& legality) {
  for (const RankShape& shape : options.shapes) {
    if (shape.nodes >= 1 && shape.ranks >= shape.nodes) continue;
    throw std::invalid_argument(fmt::format("{} ranks on {} nodes: expected 1 rank or more on each",
                                            shape.ranks, shape.nodes));
  }
  Tuning tuning;
  for (const MeasuredTable& table : tables) {
    TuningTable chosen = ChooseTable(table, options.rules);
    if (!chosen.rules.empty()) tuning.tables.push_back(std::move(chosen));
  }
  AddModelled(tables, options, legality, tuning);
  return tuning;
}

Tuning ChooseRules(std::span<const RunRecords> runs, const TuneOptions& options) {
  Legality legality;
  Tuning tuning = ChooseRules(MeasuredTables(runs, options.implementation), options, legality);
  tuning.runs.reserve(runs.size());
  for (const RunRecords& run : runs) tuning.runs.push_back(run.path);
  return tuning;
}

}  // namespace hockney
