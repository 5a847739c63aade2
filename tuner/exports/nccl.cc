#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tuner/exports/exports.h"
#include "tuner/plugin/nccl_rules.h"
#include "tuner/plugin/tuner_abi.h"

namespace hockney {
namespace {

constexpr const char* kFile = "nccl_tuner.csv";

// NCCL's number of a function that a tuner is asked for.
std::optional<int> FunctionOf(Collective collective) {
  const auto number = [](std::string_view name) {
    const auto* const found =
        std::find(tuner_abi::kFunctions.begin(), tuner_abi::kFunctions.end(), name);
    return static_cast<int>(found - tuner_abi::kFunctions.begin());
  };
  switch (collective) {
    case Collective::kBroadcast:
      return number("broadcast");
    case Collective::kReduce:
      return number("reduce");
    case Collective::kAllGather:
      return number("allgather");
    case Collective::kReduceScatter:
      return number("reducescatter");
    case Collective::kAllReduce:
      return number("allreduce");
    default:
      return std::nullopt;
  }
}

// NCCL's number of a name, in the spelling of NCCL_ALGO and NCCL_PROTO or of the CSV: NVLSTree,
// nvlstree and nvls_tree are one.
std::optional<int> NumberOf(std::string_view name, std::span<const std::string_view> names) {
  const auto plain = [](std::string_view text) {
    std::string letters;
    for (const char c : text) {
      if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return letters;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (plain(names[i]) == plain(name)) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::string ShapeOf(const TuningTable& table) {
  return fmt::format("{} of {} ranks on {} nodes", Name(table.collective), table.ranks,
                     table.nodes);
}

// What was left out, counted, so that a long table does not give a long list.
struct LeftOut {
  int unnamed = 0;  // NCCL chose itself
  int predicted = 0;
  int odd_channels = 0;
};

std::optional<NcclRule> RuleOf(const TuningRule& rule, const TuningTable& table, LeftOut* out) {
  if (rule.implementation != "nccl") return std::nullopt;
  const auto algorithm = NumberOf(rule.algorithm, tuner_abi::kAlgorithms);
  const auto protocol = NumberOf(rule.protocol, tuner_abi::kProtocols);
  if (!algorithm || !protocol) {
    ++out->unnamed;
    return std::nullopt;
  }
  if (!rule.measured) {
    ++out->predicted;
    return std::nullopt;
  }
  if (rule.lanes && (*rule.lanes < 1 || *rule.lanes > tuner_abi::kMostChannels)) {
    ++out->odd_channels;
    return std::nullopt;
  }
  return NcclRule{.function = *FunctionOf(table.collective),
                  .min_bytes = rule.min_bytes,
                  .max_bytes = rule.max_bytes,
                  .algorithm = *algorithm,
                  .protocol = *protocol,
                  .channels = static_cast<int>(rule.lanes.value_or(NcclRule::kAny)),
                  .nodes = static_cast<int>(table.nodes),
                  .ranks = static_cast<int>(table.ranks)};
}

// Adds a rule, or lengthens the last one, if that says the same of the sizes just below.
void Append(const NcclRule& rule, std::vector<NcclRule>* rules) {
  if (!rules->empty()) {
    NcclRule& last = rules->back();
    NcclRule joined = rule;
    joined.min_bytes = last.min_bytes;
    joined.max_bytes = last.max_bytes;
    if (joined == last && rule.min_bytes > 0 && last.max_bytes == rule.min_bytes - 1) {
      last.max_bytes = rule.max_bytes;
      return;
    }
  }
  rules->push_back(rule);
}

// NCCL hears of no type, operator, buffer or way of timing, so of several tables of a shape the
// first with rules counts.
class Exporter {
 public:
  void Add(const TuningTable& table) {
    const auto is_nccl = [](const TuningRule& rule) { return rule.implementation == "nccl"; };
    if (std::none_of(table.rules.begin(), table.rules.end(), is_nccl)) return;
    if (!FunctionOf(table.collective)) {
      Note(
          "{}: left out: NCCL asks a tuner for broadcast, reduce, all_gather, reduce_scatter and "
          "all_reduce only",
          ShapeOf(table));
      return;
    }
    const auto key = std::tuple(table.collective, table.ranks, table.nodes);
    if (std::find(done_.begin(), done_.end(), key) != done_.end()) {
      Note(
          "{}, {} {}: left out: NCCL's tuner hears of no type or operator, and an earlier table "
          "has this shape",
          ShapeOf(table), table.dtype, table.op);
      return;
    }
    const std::size_t before = rules_.size();
    LeftOut out;
    for (const TuningRule& each : table.rules) {
      if (const auto rule = RuleOf(each, table, &out)) Append(*rule, &rules_);
    }
    if (rules_.size() > before) done_.push_back(key);
    Report(table, out);
  }

  Exported Finish() {
    Exported exported;
    if (rules_.empty()) {
      notes_.insert(notes_.begin(),
                    "no file for NCCL: no rule names an algorithm and a protocol "
                    "that were measured with NCCL");
      exported.notes = notes_;
      return exported;
    }
    std::string text = "# NCCL_TUNER_CONFIG_FILE of hockney's plugin and of NCCL's example\n";
    for (const NcclRule& rule : rules_) text += FormatNcclRule(rule) + "\n";
    CheckReadBack(text);
    exported.files = {{kFile, text}};
    exported.notes.push_back(fmt::format(
        "use: NCCL_TUNER_PLUGIN=.../libnccl-tuner-hockney.so NCCL_TUNER_CONFIG_FILE=.../{} on "
        "every host; hockney info --check-tuner tells whether all read the same; NCCL_ALGO and "
        "NCCL_PROTO must be unset",
        kFile));
    exported.notes.insert(exported.notes.end(), notes_.begin(), notes_.end());
    return exported;
  }

 private:
  template <class... Parts>
  void Note(fmt::format_string<Parts...> format, Parts&&... parts) {
    notes_.push_back(fmt::format(format, std::forward<Parts>(parts)...));
  }

  void Report(const TuningTable& table, const LeftOut& out) {
    if (out.unnamed > 0) {
      Note(
          "{}: {} rule(s) left out, where NCCL had the choice: measure with NCCL's algorithm and "
          "protocol fixed to name them",
          ShapeOf(table), out.unnamed);
    }
    if (out.predicted > 0) {
      Note("{}: {} rule(s) left out, which were predicted, not measured", ShapeOf(table),
           out.predicted);
    }
    if (out.odd_channels > 0) {
      Note("{}: {} rule(s) left out, whose channels are not 1 to {}", ShapeOf(table),
           out.odd_channels, tuner_abi::kMostChannels);
    }
  }

  // By the plugin's own reader.
  void CheckReadBack(const std::string& text) const {
    std::vector<NcclRule> read = ParseNcclRules(text, kFile);
    for (NcclRule& rule : read) rule.line = 0;
    if (read != rules_) throw std::logic_error("the rules for NCCL do not read back");
  }

  std::vector<NcclRule> rules_ = {};
  std::vector<std::tuple<Collective, std::int64_t, std::int64_t>> done_ = {};
  std::vector<std::string> notes_ = {};
};

}  // namespace

Exported ExportNccl(const Tuning& tuning) {
  Exporter exporter;
  for (const TuningTable& table : tuning.tables) exporter.Add(table);
  return exporter.Finish();
}

}  // namespace hockney
