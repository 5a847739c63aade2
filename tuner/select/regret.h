#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tuner/select/choose_rules.h"
#include "tuner/select/score.h"

namespace hockney {

// What tuning knew of a cell that it is scored at.
enum class Knowledge : std::uint8_t {
  kSize,   // this size, of other launches
  kShape,  // other sizes of this shape
  kCall,   // other shapes only
};
std::string_view Name(Knowledge knowledge);  // size seen, size unseen, shape unseen

// A cell that the tuner was scored at.
struct ScoredCell {
  TuningTable key = {};  // without rules
  std::uint64_t bytes = 0;
  Knowledge knowledge = Knowledge::kSize;
  Choice choice = {};
  CellScore score = {};
};

// How far choices are from the best, on launches that tuning never read.
struct RegretReport {
  // The tuner first, then the library's default, hockney's plain ring, and the fixed table
  // (fixed_table.h).
  std::vector<Regret> methods = {};
  std::vector<Regret> by_knowledge = {};  // the tuner's, by what it knew; none without cells
  std::vector<ScoredCell> cells = {};     // the tuner's, largest regret first
  bool has_halves = true;       // false: the best was chosen on the launch that scored it, too
  bool reduced_proofs = false;  // Legality::reduced
};

// Tunes on the first, third, ... launch of each table, every other size (and the largest), and, of
// calls with three shapes or more, on all but every third shape; scores at every size and shape on
// the other launches. `options.shapes` is not looked at. Tables with fewer than two launches, and
// cells with one choice only, do not count; no methods if nothing is left.
RegretReport ScoreRegret(std::span<const MeasuredTable> tables, const TuneOptions& options,
                         Legality& legality);

// The rule that the tables have for a size of a shape; null if they have none.
const TuningRule* FindRule(std::span<const TuningTable> tables, const TuningTable& key,
                           std::uint64_t bytes);

// What tuning.json says of it.
nlohmann::ordered_json RegretJson(const RegretReport& report);
nlohmann::ordered_json RegretJson(const Regret& regret);

}  // namespace hockney
