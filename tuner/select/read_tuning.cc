#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

#include "topology/check.h"
#include "topology/input_file.h"
#include "topology/json_reader.h"
#include "tuner/select/legal.h"
#include "tuner/select/measured.h"
#include "tuner/select/tuning_json.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostQuoted = 60;  // characters of a value in a message

// A value of the file and the way to it.
class Node {
 public:
  Node(const std::string& file, const Json& json, std::string path)
      : file_(file), json_(json), path_(std::move(path)) {}

  const Json& json() const { return json_; }
  std::size_t size() const { return json_.size(); }

  [[noreturn]] void Fail(const std::string& expected) const {
    std::string text = json_.dump();
    if (text.size() > kMostQuoted) text = text.substr(0, kMostQuoted) + "...";
    FailWith(fmt::format("{}: expected {}", text, expected));
  }
  [[noreturn]] void FailWith(const std::string& message) const {
    throw InputError(fmt::format("{}: {}: {}", file_, path_.empty() ? "/" : path_, message));
  }

  Node At(std::string_view key) const {
    return {file_, json_.at(std::string(key)), fmt::format("{}/{}", path_, key)};
  }
  Node At(std::size_t i) const { return {file_, json_.at(i), fmt::format("{}/{}", path_, i)}; }

  // An object with these keys, and with no others but the optional ones.
  void RequireKeys(std::span<const std::string_view> keys,
                   std::span<const std::string_view> optional = {}) const {
    if (!json_.is_object()) Fail("an object");
    for (const std::string_view key : keys) {
      if (!json_.contains(key)) FailWith(fmt::format("expected a key \"{}\"", key));
    }
    for (const auto& [key, value] : json_.items()) {
      const bool known = std::find(keys.begin(), keys.end(), key) != keys.end() ||
                         std::find(optional.begin(), optional.end(), key) != optional.end();
      if (!known)
        FailWith(fmt::format("\"{}\": expected no key but {}", key, fmt::join(keys, ", ")));
    }
  }
  void RequireArray() const {
    if (!json_.is_array()) Fail("an array");
  }

  std::string Text() const {
    if (!json_.is_string()) Fail("a text");
    return json_.get<std::string>();
  }
  bool Bool() const {
    if (!json_.is_boolean()) Fail("true or false");
    return json_.get<bool>();
  }
  std::uint64_t Bytes() const {
    if (!json_.is_number_unsigned()) Fail("a whole number of bytes, 0 to 18446744073709551615");
    return json_.get<std::uint64_t>();
  }
  std::int64_t Count(std::int64_t most) const {
    const bool is_count = json_.is_number_unsigned() && json_.get<std::uint64_t>() >= 1 &&
                          json_.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    if (!is_count) Fail(fmt::format("a whole number from 1 to {}", most));
    return json_.get<std::int64_t>();
  }
  std::optional<double> Positive() const {
    if (json_.is_null()) return std::nullopt;
    if (!json_.is_number() || !(json_.get<double>() > 0)) Fail("a number above 0, or null");
    return json_.get<double>();
  }
  std::string OneOf(std::span<const std::string_view> names) const {
    const std::string text = Text();
    if (std::find(names.begin(), names.end(), text) == names.end()) {
      Fail(fmt::format("one of {}", fmt::join(names, ", ")));
    }
    return text;
  }

 private:
  const std::string& file_;
  const Json& json_;
  std::string path_;
};

constexpr std::int64_t kMostRanks = 1 << 30;

constexpr std::string_view kRuleKeys[] = {
    "min_bytes", "max_bytes", "implementation", "algorithm", "protocol", "lanes", "parameters",
    "measured",  "tie",       "time_us",        "gain"};
constexpr std::string_view kTableKeys[] = {"collective",  "ranks",    "nodes", "dtype", "op",
                                           "memory_kind", "in_place", "mode",  "rules"};
constexpr std::string_view kFileKeys[] = {"schema", "version", "runs", "tables"};
constexpr std::string_view kOptionalFileKeys[] = {"regret", "active_search"};
constexpr std::string_view kImplementations[] = {"hockney", "mpi", "nccl"};
constexpr std::string_view kMemoryKinds[] = {"host", "cuda"};
constexpr std::string_view kModes[] = {"isolated", "streamed"};

// Sorted key=value;...
void CheckParameters(const Node& node, const std::string& text) {
  std::string last;
  for (std::size_t at = 0; !text.empty() && at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string part = text.substr(at, end - at);
    const std::string key = part.substr(0, part.find('='));
    if (key.empty() || key == part || key <= last) node.Fail("key=value;... with ascending keys");
    last = key;
    at = end + 1;
  }
}

void CheckChoice(const Node& node, Collective collective, const TuningRule& rule) {
  if (rule.implementation != "hockney") {
    if (rule.algorithm.empty()) node.At("algorithm").Fail("a name");
    return;
  }
  try {
    static_cast<void>(FindNamed(collective, ChoiceOf(rule)));
  } catch (const std::invalid_argument& error) {
    node.At("algorithm").FailWith(error.what());
  }
}

TuningRule ReadRule(const Node& node, Collective collective) {
  node.RequireKeys(kRuleKeys);
  TuningRule rule;
  rule.min_bytes = node.At("min_bytes").Bytes();
  if (!node.At("max_bytes").json().is_null()) rule.max_bytes = node.At("max_bytes").Bytes();
  rule.implementation = node.At("implementation").OneOf(kImplementations);
  rule.algorithm = node.At("algorithm").Text();
  rule.protocol = node.At("protocol").Text();
  if (!node.At("lanes").json().is_null()) rule.lanes = node.At("lanes").Count(kMostRanks);
  rule.parameters = node.At("parameters").Text();
  CheckParameters(node.At("parameters"), rule.parameters);
  rule.measured = node.At("measured").Bool();
  rule.tie = node.At("tie").Bool();
  rule.time_us = node.At("time_us").Positive();
  rule.gain = node.At("gain").Positive();
  CheckChoice(node, collective, rule);
  return rule;
}

// Throws unless the rule begins where the one before ends, and ends above.
void CheckRange(const Node& node, const TuningRule& rule, const TuningRule* before) {
  const std::uint64_t open = TuningRule{}.max_bytes;
  if (before != nullptr && before->max_bytes == open) {
    node.At("min_bytes").Fail("no rule behind the one whose max_bytes is null");
  }
  const std::uint64_t begin = before == nullptr ? 0 : before->max_bytes + 1;
  if (rule.min_bytes != begin) {
    node.At("min_bytes").Fail(fmt::format("{}, so that ranges follow each other from 0", begin));
  }
  if (rule.max_bytes < rule.min_bytes) {
    node.At("max_bytes").Fail(fmt::format("at least {}, its min_bytes", rule.min_bytes));
  }
}

template <class Value>
Value Named(const Node& node, std::optional<Value> (*parse)(std::string_view), const char* what) {
  const auto value = parse(node.Text());
  if (!value) node.Fail(what);
  return *value;
}

void ReadRules(const Node& node, TuningTable& table) {
  node.RequireArray();
  if (node.size() == 0) node.Fail("one rule or more");
  for (std::size_t i = 0; i < node.size(); ++i) {
    TuningRule rule = ReadRule(node.At(i), table.collective);
    CheckRange(node.At(i), rule, i == 0 ? nullptr : &table.rules.back());
    table.rules.push_back(std::move(rule));
  }
  if (table.rules.back().max_bytes != TuningRule{}.max_bytes) {
    node.At(node.size() - 1).At("max_bytes").Fail("null for the last rule");
  }
}

TuningTable ReadTable(const Node& node) {
  node.RequireKeys(kTableKeys);
  TuningTable table;
  table.collective = Named(node.At("collective"), ParseCollective, "a collective");
  table.ranks = node.At("ranks").Count(kMostRanks);
  table.nodes = node.At("nodes").Count(table.ranks);
  table.dtype = node.At("dtype").Text();
  if (!table.dtype.empty()) Named(node.At("dtype"), ParseDataType, "a type, or nothing");
  table.op = node.At("op").Text();
  if (!table.op.empty()) Named(node.At("op"), ParseReduceOp, "an operator, or nothing");
  table.memory_kind = node.At("memory_kind").OneOf(kMemoryKinds);
  table.in_place = node.At("in_place").Bool();
  table.mode = node.At("mode").OneOf(kModes);
  ReadRules(node.At("rules"), table);
  return table;
}

// nlohmann keeps the last of two equal keys and says nothing.
Json ParseWithoutRepeats(const std::string& path, const std::string& text) {
  RequireShallowJson(text, path);
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  const auto look = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second &&
        repeated.empty()) {
      repeated = value.get<std::string>();
    }
    return true;
  };
  try {
    Json json = Json::parse(text, look);
    if (repeated.empty()) return json;
  } catch (const Json::parse_error& error) {
    FailInput(path, PositionAt(text, error.byte > 0 ? error.byte - 1 : 0),
              "expected JSON as hockney tune writes it");
  }
  throw InputError(fmt::format("{}: \"{}\": expected each key once in an object", path, repeated));
}

}  // namespace

Tuning ParseTuning(const std::string& path, const std::string& text) {
  const Json json = ParseWithoutRepeats(path, text);
  const Node node(path, json, "");
  node.RequireKeys(kFileKeys, kOptionalFileKeys);
  constexpr std::string_view kSchemas[] = {"hockney-tuning"};
  static_cast<void>(node.At("schema").OneOf(kSchemas));
  if (node.At("version").json() != Json(Tuning::kVersion)) {
    node.At("version").Fail(fmt::format("{}", Tuning::kVersion));
  }
  Tuning tuning;
  node.At("runs").RequireArray();
  for (std::size_t i = 0; i < node.At("runs").size(); ++i) {
    tuning.runs.push_back(node.At("runs").At(i).Text());
  }
  const Node tables = node.At("tables");
  tables.RequireArray();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    TuningTable table = ReadTable(tables.At(i));
    for (const TuningTable& other : tuning.tables) {
      const bool equal = SameCall(other, table) &&
                         std::tie(other.ranks, other.nodes) == std::tie(table.ranks, table.nodes);
      if (equal) tables.At(i).FailWith("expected one table for one call, found a second");
    }
    tuning.tables.push_back(std::move(table));
  }
  return tuning;
}

Tuning ReadTuning(const std::string& path) { return ParseTuning(path, ReadInputFile(path)); }

}  // namespace hockney
