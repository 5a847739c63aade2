#include "tuner/exports/mpi_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "tuner/records.h"

namespace hockney {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::uint64_t>::max();

bool IsOf(const TuningRule& rule, MpiFamily family) {
  return rule.implementation == "mpi" && rule.measured &&
         FamilyOf(FindParameter(rule.parameters, "library")) == family;
}

std::int64_t NumberOr0(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

MpiRule Convert(const TuningRule& rule, MpiFamily family) {
  MpiRule converted{.min_bytes = rule.min_bytes};
  if (!IsOf(rule, family) || rule.algorithm == "default") return converted;
  converted.algorithm = rule.algorithm;
  converted.faninout = NumberOr0(FindParameter(rule.parameters, "faninout"));
  converted.segment_bytes = NumberOr0(FindParameter(rule.parameters, "segsize"));
  return converted;
}

// Adds a rule unless it says what the one before says.
void Add(std::vector<MpiRule>& rules, MpiRule rule) {
  if (!rules.empty()) {
    MpiRule before = rules.back();
    before.min_bytes = rule.min_bytes;
    if (before == rule) return;
  }
  rules.push_back(std::move(rule));
}

MpiRules ConvertTable(const TuningTable& table, MpiFamily family) {
  MpiRules converted{.collective = table.collective, .ranks = table.ranks, .dtype = table.dtype};
  std::uint64_t next = 0;  // the first size without a rule
  for (const TuningRule& rule : table.rules) {
    if (rule.min_bytes > next) Add(converted.rules, {.min_bytes = next});
    Add(converted.rules, Convert(rule, family));
    if (rule.max_bytes == kMostBytes) return converted;
    next = rule.max_bytes + 1;
  }
  Add(converted.rules, {.min_bytes = next});
  return converted;
}

// Of tables that a rule file cannot tell apart, the greatest counts.
auto Preference(const TuningTable& table) {
  return std::make_tuple(table.nodes, table.dtype == "float32",
                         table.op.empty() || table.op == "sum", !table.in_place,
                         table.mode == "isolated");
}

std::string Describe(const TuningTable& table) {
  std::string text =
      fmt::format("{} of {} ranks on {} nodes", Name(table.collective), table.ranks, table.nodes);
  for (const std::string& part : {table.dtype, table.op, table.mode}) {
    if (!part.empty()) text += " " + part;
  }
  return text + (table.in_place ? " in place" : "");
}

}  // namespace

MpiTuning CollectMpiRules(const Tuning& tuning, MpiFamily family) {
  MpiTuning result;
  std::map<std::pair<Collective, std::int64_t>, const TuningTable*> chosen;
  for (const TuningTable& table : tuning.tables) {
    const auto own = std::find_if(table.rules.begin(), table.rules.end(),
                                  [&](const TuningRule& rule) { return IsOf(rule, family); });
    // One rank has nobody to exchange messages with.
    if (own == table.rules.end() || table.ranks < 2 || MpiNameOf(table.collective).empty())
      continue;
    if (result.library.empty()) result.library = FindParameter(own->parameters, "library");
    const TuningTable*& best = chosen[{table.collective, table.ranks}];
    const TuningTable* left_out = &table;
    if (best == nullptr || Preference(*best) < Preference(table)) std::swap(best, left_out);
    if (left_out != nullptr) {
      result.notes.push_back(
          fmt::format("left out: {}; the file tells apart collectives, ranks and bytes only",
                      Describe(*left_out)));
    }
  }
  result.tables.reserve(chosen.size());
  for (const auto& [key, table] : chosen) {
    result.tables.push_back(ConvertTable(*table, family));
    const bool all = std::all_of(table->rules.begin(), table->rules.end(),
                                 [&](const TuningRule& rule) { return IsOf(rule, family); });
    if (all) continue;
    result.notes.push_back(
        fmt::format("{}: sizes whose rule is another implementation's, or was not measured, are "
                    "left to the library",
                    Describe(*table)));
  }
  return result;
}

}  // namespace hockney
