#include "bench/tuned_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "bench/cell.h"
#include "bench/options.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/gather_json.h"
#include "topology/input_file.h"
#include "tuner/select/legal.h"
#include "tuner/select/tuning_json.h"

namespace hockney {
namespace {

// They run on any layout; every collective has the last one.
constexpr std::array<std::string_view, 3> kFallbacks = {"ring", "pairwise", "naive_root"};

int BytesOf(const std::string& type) {
  const auto parsed = ParseDataType(type);
  return parsed ? static_cast<int>(ElementBytes(*parsed)) : 0;
}

// Larger is nearer.
auto Nearness(const TuningTable& table, const SweepRow& row) {
  const std::string type = row.dtype ? std::string(Name(*row.dtype)) : "";
  const std::string op = row.op ? std::string(Name(*row.op)) : "";
  return std::make_tuple(table.dtype == type, BytesOf(table.dtype) == BytesOf(type), table.op == op,
                         table.in_place == row.in_place.value_or(false), table.mode == row.mode);
}

// Whether the row is what the rule means; libraries may have another version today.
bool IsMeant(const SweepRow& row, const TuningRule& rule) {
  Choice mine = ChoiceOf(row);
  Choice theirs = ChoiceOf(rule);
  const std::string slices = FindParameter(rule.parameters, "slices");
  if (!slices.empty()) mine = WithSlices(std::move(mine), FindParameter(row, "slices"));
  if (theirs.implementation != "hockney") {
    for (const std::string_view key : {"faninout", "segsize"}) {
      if (FindParameter(row, key) != FindParameter(rule.parameters, key)) return false;
    }
    mine.parameters.clear();
    theirs.parameters.clear();
  }
  return mine == theirs;
}

TuningRule PlainRule(std::string_view algorithm, bool on_host) {
  return {.implementation = "hockney",
          .algorithm = std::string(algorithm),
          .protocol = "simple",
          .lanes = 1,
          .parameters = on_host ? "store=cached" : ""};
}

// The competitors of a cell, among which rules look for theirs.
class Candidates {
 public:
  Candidates(const SweepContext& context, const Cell& cell, std::span<const BufferSet> sets,
             std::vector<Competitor>& all)
      : context_(context), cell_(cell), sets_(sets), all_(all) {}

  // Finds the competitor that the rule means, or makes it behind the others. Returns null where it
  // cannot run, with the reason.
  Competitor* FindOrMake(const TuningRule& rule, std::string* reason) {
    for (Competitor& each : all_) {
      if (!IsMeant(each.row, rule)) continue;
      if (!each.prepared.empty()) return &each;
      *reason = each.row.reason;
      return nullptr;
    }
    if (rule.implementation != "hockney") {
      *reason = rule.implementation + " is not measured like that here";
      return nullptr;
    }
    const NamedAlgorithm named = FindNamed(cell_.collective, ChoiceOf(rule));
    Competitor made = MakeNamed(context_, cell_, named, sets_);
    *reason = made.row.reason;
    if (made.prepared.empty()) return nullptr;
    all_.push_back(std::move(made));
    return &all_.back();
  }

 private:
  const SweepContext& context_;
  const Cell& cell_;
  std::span<const BufferSet> sets_;
  std::vector<Competitor>& all_;
};

}  // namespace

std::shared_ptr<const Tuning> ShareTuning(Session& session, const std::string& path) {
  std::string text;
  RunOnAllOrThrow(session, [&] {
    if (session.rank() != 0) return;
    text = ReadInputFile(path);
    static_cast<void>(ParseTuning(path, text));
  });
  const nlohmann::ordered_json mine(text);
  const std::string shared = GatherJson(session, mine)[0].get<std::string>();
  return std::make_shared<const Tuning>(ParseTuning(path, shared));
}

void CheckTuned(const SweepOptions& options, int ranks, int nodes) {
  bool any = false;
  for (const Collective collective : options.collectives) {
    std::set<std::string> shapes;
    bool fits = false;
    for (const TuningTable& table : options.tuned->tables) {
      if (table.collective != collective) continue;
      shapes.insert(fmt::format("{}x{}", table.ranks, table.nodes));
      fits = fits || (table.ranks == ranks && table.nodes == nodes);
    }
    any = any || fits;
    if (fits || shapes.empty()) continue;
    throw Agreed<UsageError>(fmt::format(
        "--tuned: \"{}\": no rules of {} for {} ranks on {} nodes: expected one of its shapes, {} "
        "(ranks x nodes), or hockney tune --shape {}x{}",
        options.tuned_file, Name(collective), ranks, nodes, fmt::join(shapes, " "), ranks, nodes));
  }
  if (any) return;
  throw Agreed<UsageError>(fmt::format(
      "--tuned: \"{}\": expected rules of a collective that is measured", options.tuned_file));
}

int MostTunedLanes(const SweepOptions& options) {
  std::int64_t most = 0;
  if (options.tuned == nullptr) return 0;
  for (const TuningTable& table : options.tuned->tables) {
    for (const TuningRule& rule : table.rules) {
      if (rule.implementation == "hockney") most = std::max(most, rule.lanes.value_or(1));
    }
  }
  return static_cast<int>(most);
}

const TuningRule* FindTuned(const Tuning& tuning, const SweepRow& row) {
  const TuningTable* nearest = nullptr;
  for (const TuningTable& table : tuning.tables) {
    const bool fits = table.collective == row.collective && table.ranks == row.ranks &&
                      table.nodes == row.nodes.value_or(1) && table.memory_kind == row.memory_kind;
    if (!fits) continue;
    if (nearest == nullptr || Nearness(table, row) > Nearness(*nearest, row)) nearest = &table;
  }
  if (nearest == nullptr) return nullptr;
  const auto rule =
      std::find_if(nearest->rules.begin(), nearest->rules.end(), [&](const TuningRule& each) {
        return row.size_bytes >= each.min_bytes && row.size_bytes <= each.max_bytes;
      });
  return rule == nearest->rules.end() ? nullptr : &*rule;
}

void AddTuned(const SweepContext& context, const Cell& cell, std::span<const BufferSet> sets,
              std::vector<Competitor>& competitors) {
  const TuningRule* rule = FindTuned(*context.options->tuned, StartRow(context, cell));
  if (rule == nullptr) return;
  const std::string mark = std::string(kTunedMark) + rule->algorithm;
  Candidates candidates(context, cell, sets, competitors);
  std::string why_not;
  if (Competitor* chosen = candidates.FindOrMake(*rule, &why_not)) {
    chosen->row.requested_algorithm = mark;
    return;
  }
  for (const std::string_view name : kFallbacks) {
    if (FindAlgorithm(cell.collective, name) == nullptr) continue;
    std::string reason;
    Competitor* fallback =
        candidates.FindOrMake(PlainRule(name, context.device == nullptr), &reason);
    if (fallback == nullptr) continue;
    fallback->row.requested_algorithm = mark;
    fallback->row.reason =
        fmt::format("fallback: {} chooses {}, but {}", context.options->tuned_file,
                    Describe(ChoiceOf(*rule)), why_not);
    return;
  }
}

}  // namespace hockney
