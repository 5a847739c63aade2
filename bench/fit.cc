#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/exit_codes.h"
#include "bench/launch.h"
#include "bench/options.h"
#include "bench/sizes.h"
#include "bench/text_table.h"
#include "topology/check.h"
#include "tuner/model/fit_runs.h"
#include "tuner/records.h"
#include "tuner/records/line_file.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr std::size_t kMostRefusedLines = 10;

struct Texts {
  std::vector<std::string> runs;
  std::string out;
};

// "-" where it is not known.
std::string Percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-";
}

std::string OrDash(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::vector<std::string> LineOf(const LevelModel& level) {
  const std::vector<Segment>& segments = level.fit.line.segments();
  const Segment& last = segments.back();
  const std::string from =
      segments.size() == 1 ? "0"
                           : FormatSize(static_cast<std::uint64_t>(std::llround(last.begin_bytes)));
  return {level.level,
          fmt::format("{:.2f}", segments[0].alpha_seconds * 1e6),
          fmt::format("{:.4f}", 1e-9 / last.beta_seconds_per_byte),
          from,
          std::to_string(segments.size()),
          OrDash(level.duplex_ratio, "{:.2f}x"),
          level.saturation ? fmt::format("{:.4f}", level.saturation->all_GBps) : "-",
          std::to_string(level.fit.points),
          Percent(level.fit.mean_error),
          Percent(level.fit.held_out_error),
          std::string(Name(ConfidenceOf(level.fit)))};
}

void PrintLevels(const Model& model) {
  if (model.levels.empty()) return;
  std::vector<std::vector<std::string>> table = {{"level", "alpha_us", "GB/s", "from", "segments",
                                                  "duplex", "pairs GB/s", "sizes", "error",
                                                  "held out", "confidence"}};
  for (const LevelModel& level : model.levels) table.push_back(LineOf(level));
  fmt::print(
      "{}alpha_us: time of a message without bytes; GB/s: 1 / beta of the largest messages, from "
      "the size named on; duplex: time of both directions at once over that of one; pairs GB/s: "
      "the most that several pairs moved together; error: mean over the sizes; held out: the same "
      "of sizes that a fit to the others told\n",
      FormatTable(table));
}

void PrintAlgorithms(const Model& model) {
  if (model.algorithms.empty()) return;
  std::vector<double> errors;
  for (const AlgorithmModel& each : model.algorithms) {
    if (std::isfinite(each.fit.held_out_error)) errors.push_back(each.fit.held_out_error);
  }
  fmt::print("\n{} choices of collectives fitted", model.algorithms.size());
  if (!errors.empty()) {
    fmt::print(", errors of held-out sizes: median {}, largest {}", Percent(Median(errors)),
               Percent(*std::max_element(errors.begin(), errors.end())));
  }
  fmt::print("\n");
}

void PrintRefused(const Model& model) {
  if (model.refused.empty()) return;
  fmt::print("\n{} not fitted:\n", model.refused.size());
  for (std::size_t i = 0; i < std::min(kMostRefusedLines, model.refused.size()); ++i) {
    fmt::print("  {}\n", model.refused[i]);
  }
  if (model.refused.size() > kMostRefusedLines) fmt::print("  ... (all are in model.json)\n");
}

int Run(Texts texts) {
  if (texts.runs.empty()) {
    const auto newest = NewestRun();
    if (!newest)
      throw UsageError("RUN: none given and none in hockney-runs: expected a run folder");
    fmt::print("run folder: {} (the newest)\n", newest->string());
    texts.runs.push_back(newest->string());
  }
  std::vector<RunRecords> runs;
  runs.reserve(texts.runs.size());
  for (const std::string& path : texts.runs) runs.push_back(ReadRecords(path));
  const Model model = FitRuns(runs);
  PrintLevels(model);
  PrintAlgorithms(model);
  PrintRefused(model);
  if (model.levels.empty() && model.algorithms.empty()) {
    throw InputError(fmt::format("{}: nothing could be fitted: {}", texts.runs[0],
                                 model.refused.empty() ? "no row was measured" : model.refused[0]));
  }
  const std::string out = texts.out.empty()
                              ? (std::filesystem::path(texts.runs[0]) / "model.json").string()
                              : texts.out;
  ReplaceFile(out, ModelJson(model).dump(2) + "\n");
  fmt::print("\nmodel: {}\n", out);
  return ToInt(ExitCode::kOk);
}

Runner AddFit(CLI::App& program) {
  const auto texts = std::make_shared<Texts>();
  CLI::App& command = *program.add_subcommand(
      "fit", "Fit alpha and beta of links and of measured choices, with their errors");
  command.add_option("runs", texts->runs,
                     "Run folders of hockney links and sweep; several count together. Default: "
                     "the newest in hockney-runs");
  command.add_option("--out", texts->out,
                     "The file to write. Default: model.json in the first RUN");
  command.footer("Example: hockney fit hockney-runs/20261201T120000Z_links");
  return [texts](const Launch& launch) {
    return launch.rank() == 0 ? Run(*texts) : ToInt(ExitCode::kOk);
  };
}

}  // namespace

Command FitCommand() { return {.name = "fit", .add = AddFit}; }

}  // namespace hockney
