#include "tuner/select/choice.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "collectives/levels.h"

namespace hockney {
namespace {

bool HasPlainStores(const Choice& choice) {
  return FindParameter(choice.parameters, "store") != "non_temporal";
}

auto Complexity(const Choice& choice) {
  const bool is_library = choice.implementation != "hockney" && choice.algorithm == "default";
  return std::make_tuple(!is_library, choice.algorithm.starts_with(kHierarchical),
                         choice.protocol == "ll", !HasPlainStores(choice),
                         choice.lanes.value_or(1));
}

}  // namespace

Choice ChoiceOf(const SweepRow& row) {
  Choice choice{.implementation = row.implementation,
                .algorithm = AlgorithmOf(row),
                .protocol = row.protocol,
                .lanes = row.lanes};
  for (const std::string_view key : {"faninout", "library", "path", "segsize", "store", "test"}) {
    const std::string value = FindParameter(row, key);
    if (value.empty()) continue;
    if (!choice.parameters.empty()) choice.parameters += ';';
    choice.parameters.append(key).append("=").append(value);
  }
  return choice;
}

Choice WithSlices(Choice choice, const std::string& slices) {
  // Keys ascend: it goes before store and test, behind all others.
  const std::size_t store = std::min({choice.parameters.find("store="),
                                      choice.parameters.find("test="), choice.parameters.size()});
  std::string added = "slices=" + slices;
  if (store != choice.parameters.size()) {
    added += ';';
  } else if (store != 0) {
    added.insert(0, ";");
  }
  choice.parameters.insert(store, added);
  return choice;
}

Choice ChoiceOf(const TuningRule& rule) {
  return {.implementation = rule.implementation,
          .algorithm = rule.algorithm,
          .protocol = rule.protocol,
          .lanes = rule.lanes,
          .parameters = rule.parameters};
}

void SetChoice(TuningRule& rule, const Choice& choice) {
  rule.implementation = choice.implementation;
  rule.algorithm = choice.algorithm;
  rule.protocol = choice.protocol;
  rule.lanes = choice.lanes;
  rule.parameters = choice.parameters;
}

std::string Describe(const Choice& choice) {
  std::string text;
  if (choice.implementation == "hockney") {
    text = choice.algorithm;
  } else {
    text = choice.implementation;
    if (choice.algorithm != "default") text += " " + choice.algorithm;
  }
  if (!choice.protocol.empty() && choice.protocol != "simple") text += " " + choice.protocol;
  if (choice.lanes.value_or(1) > 1) text += " x" + std::to_string(*choice.lanes);
  if (!HasPlainStores(choice)) text += " non_temporal";
  for (const std::string_view key : {"faninout", "segsize"}) {
    const std::string value = FindParameter(choice.parameters, key);
    if (!value.empty()) text.append(" ").append(key).append("=").append(value);
  }
  return text;
}

bool IsSimpler(const Choice& a, const Choice& b) {
  return std::make_tuple(Complexity(a), a) < std::make_tuple(Complexity(b), b);
}

bool SameSchedule(const Choice& a, const Choice& b) {
  return std::tie(a.implementation, a.algorithm, a.protocol) ==
         std::tie(b.implementation, b.algorithm, b.protocol);
}

}  // namespace hockney
