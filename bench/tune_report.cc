#include "bench/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/sizes.h"
#include "bench/text_table.h"

namespace hockney {
namespace {

using Lines = std::vector<std::vector<std::string>>;

constexpr std::size_t kWorstCells = 5;

// "0..512", "513..": sizes in bytes.
std::string SizesOf(const TuningRule& rule) {
  const bool is_open = rule.max_bytes == TuningRule{}.max_bytes;
  return fmt::format("{}..{}", rule.min_bytes == 0 ? "0" : FormatSize(rule.min_bytes),
                     is_open ? "" : FormatSize(rule.max_bytes));
}

// "all_reduce", "all_reduce in place, streamed": what sets tables of a file apart, float32 sums
// apart being usual.
std::string CallOf(const TuningTable& table) {
  std::string call(Name(table.collective));
  if (!table.dtype.empty() && table.dtype != "float32") call += " " + table.dtype;
  if (!table.op.empty() && table.op != "sum") call += " " + table.op;
  if (table.in_place) call += " in place";
  if (table.mode != "isolated") call += " " + table.mode;
  if (table.memory_kind != "host") call += " " + table.memory_kind;
  return call;
}

std::string OrDash(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::vector<std::string> LineOf(const Regret& regret) {
  if (regret.cells == 0) {
    return {regret.method, "-", "-", "-", "0", "0", std::to_string(regret.left_out)};
  }
  return {regret.method,
          Percent(regret.mean),
          Percent(regret.p95),
          Percent(regret.max),
          std::to_string(regret.cells),
          std::to_string(regret.within_noise),
          std::to_string(regret.left_out)};
}

std::string WorstCells(const RegretReport& report) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kWorstCells, report.cells.size()); ++i) {
    const ScoredCell& cell = report.cells[i];
    if (cell.score.within_noise) continue;
    text +=
        fmt::format("  {} of {}, {} ranks on {} nodes ({}): {} for {}, {}\n", CallOf(cell.key),
                    FormatSize(cell.bytes), cell.key.ranks, cell.key.nodes, Name(cell.knowledge),
                    Describe(cell.choice), Describe(cell.score.best), Percent(cell.score.regret));
  }
  return text.empty() ? "" : "worst beyond noise, tuned choice for the best:\n" + text;
}

}  // namespace

std::string RulesTable(const Tuning& tuning) {
  Lines lines = {
      {"collective", "ranks", "nodes", "sizes", "choice", "time_us", "gain", "from", "tie"}};
  for (const TuningTable& table : tuning.tables) {
    for (const TuningRule& rule : table.rules) {
      lines.push_back({CallOf(table), std::to_string(table.ranks), std::to_string(table.nodes),
                       SizesOf(rule), Describe(ChoiceOf(rule)), OrDash(rule.time_us, "{:.2f}"),
                       OrDash(rule.gain, "{:.2f}x"), rule.measured ? "measured" : "model",
                       rule.tie ? "tie" : "-"});
    }
  }
  return FormatTable(lines) +
         "sizes: bytes of nccl-tests' size column, both ends included; a change lies at the "
         "smaller "
         "of the two sizes between which it was found. time_us and gain (time of the next choice "
         "over that) at the largest measured size of a range; tie: no better than that beyond "
         "noise or 3 %\n";
}

std::string RegretTable(const RegretReport& report) {
  if (report.methods.empty()) {
    return "regret: not known, it takes two launches or more of one cell (hockney sweep "
           "--launches)\n";
  }
  Lines lines = {{"regret", "mean", "p95", "max", "cells", "in noise", "left out"}};
  for (const Regret& regret : report.methods) lines.push_back(LineOf(regret));
  for (const Regret& regret : report.by_knowledge) {
    lines.push_back(LineOf(regret));
    lines.back()[0] = "tuner, " + regret.method;
  }
  std::string text = FormatTable(lines);
  text +=
      "chosen over best measured time - 1, a cell being a collective at a size on a shape; tuned "
      "on "
      "every other size and launch, scored on the other launches";
  text += report.has_halves
              ? ", of which one half says what is best and the other how long both take"
              : ", on the very launches that say what is best, since some cells have only two";
  text +=
      "; in noise: cells whose launches cannot tell the choice from the best; left out: nothing "
      "measured is chosen; fixed table: thresholds as MPI libraries ship them\n";
  return text + WorstCells(report);
}

std::string SearchLine(const SearchReport& report) {
  if (report.exhaustive == 0) return "";
  const Regret& regret = report.regret;
  return fmt::format(
      "active search: {} of {} times of a choice at a size in a launch ({}) would have led to "
      "rules "
      "with regret mean {}, p95 {}, max {} over {} cells\n",
      report.measured, report.exhaustive, Percent(report.share()), Percent(regret.mean),
      Percent(regret.p95), Percent(regret.max), regret.cells);
}

}  // namespace hockney
