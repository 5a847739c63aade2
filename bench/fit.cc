#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/exit_codes.h"
#include "bench/fit_report.h"
#include "bench/given_runs.h"
#include "bench/launch.h"
#include "bench/options.h"
#include "topology/check.h"
#include "tuner/model/fit_runs.h"
#include "tuner/records.h"
#include "tuner/records/line_file.h"

namespace hockney {
namespace {

struct Texts {
  std::vector<std::string> runs;
  std::string out;
  bool residuals = false;
};

int Run(Texts texts) {
  const std::vector<RunRecords> runs = ReadGivenRuns(texts.runs);
  const Model model = FitRuns(runs);
  fmt::print("{}{}", FitText(model), texts.residuals ? ResidualsText(model) : "");
  if (model.levels.empty() && model.algorithms.empty() && model.kernels.empty()) {
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
      "fit", "Fit alpha and beta of links and measured choices, and the costs of kernels");
  command.add_option("runs", texts->runs,
                     "Run folders of hockney links and sweep; several count together. Default: "
                     "the newest in hockney-runs");
  command.add_option("--out", texts->out,
                     "The file to write. Default: model.json in the first RUN");
  command.add_flag("--residuals", texts->residuals,
                   "Print every size with its time and what the curve says");
  command.footer("Example: hockney fit hockney-runs/20261201T120000Z_links");
  return [texts](const Launch& launch) {
    return launch.rank() == 0 ? Run(*texts) : ToInt(ExitCode::kOk);
  };
}

}  // namespace

Command FitCommand() { return {.name = "fit", .add = AddFit}; }

}  // namespace hockney
