#include "tuner/select/tuning_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json RuleJson(const TuningRule& rule) {
  Json json = {{"min_bytes", rule.min_bytes},
               {"max_bytes", rule.max_bytes},
               {"implementation", rule.implementation},
               {"algorithm", rule.algorithm},
               {"protocol", rule.protocol},
               {"lanes", nullptr},
               {"parameters", rule.parameters},
               {"measured", rule.measured},
               {"tie", rule.tie},
               {"time_us", OrNull(rule.time_us)},
               {"gain", OrNull(rule.gain)}};
  if (rule.max_bytes == TuningRule{}.max_bytes) json["max_bytes"] = nullptr;
  if (rule.lanes) json["lanes"] = *rule.lanes;
  return json;
}

Json TableJson(const TuningTable& table) {
  Json json = {{"collective", Name(table.collective)},
               {"ranks", table.ranks},
               {"nodes", table.nodes},
               {"dtype", table.dtype},
               {"op", table.op},
               {"memory_kind", table.memory_kind},
               {"in_place", table.in_place},
               {"mode", table.mode},
               {"rules", Json::array()}};
  for (const TuningRule& rule : table.rules) json["rules"].push_back(RuleJson(rule));
  return json;
}

}  // namespace

Json TuningJson(const Tuning& tuning) {
  Json json = {{"schema", "hockney-tuning"},
               {"version", Tuning::kVersion},
               {"runs", tuning.runs},
               {"tables", Json::array()}};
  for (const TuningTable& table : tuning.tables) json["tables"].push_back(TableJson(table));
  return json;
}

}  // namespace hockney
