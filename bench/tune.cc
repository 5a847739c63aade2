#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/exit_codes.h"
#include "bench/exports.h"
#include "bench/given_runs.h"
#include "bench/launch.h"
#include "bench/options.h"
#include "bench/training/tune_training.h"
#include "bench/tune_report.h"
#include "topology/check.h"
#include "tuner/model/fit_runs.h"
#include "tuner/records.h"
#include "tuner/select/tuning_json.h"
#include "tuner/simulate/predict.h"

namespace hockney {
namespace {

struct Texts {
  std::vector<std::string> runs;
  std::string out;
  std::string implementation = "all";
  std::vector<std::string> shapes;
  std::string model;
  std::string nodes_per_rack = "0";
  bool regret = false;
  std::vector<std::string> exports;
  std::string training;
  StepTexts step;
};

// "8x2": 8 ranks on 2 nodes.
RankShape ParseShape(const std::string& text) {
  RankShape shape;
  const char* const end = text.data() + text.size();
  const auto ranks = std::from_chars(text.data(), end, shape.ranks);
  const bool has_nodes = ranks.ec == std::errc() && ranks.ptr != end && *ranks.ptr == 'x';
  const auto nodes = std::from_chars(has_nodes ? ranks.ptr + 1 : end, end, shape.nodes);
  constexpr std::int64_t kMostRanks = 1 << 20;
  const bool is_shape = has_nodes && nodes.ec == std::errc() && nodes.ptr == end &&
                        shape.nodes >= 1 && shape.ranks >= shape.nodes && shape.ranks <= kMostRanks;
  if (!is_shape)
    FailOption("--shape", text, "RANKSxNODES, for example 16x2, 1 rank or more a node");
  return shape;
}

TuneOptions ReadOptions(const Texts& texts) {
  constexpr std::string_view kImplementations[] = {"all", "hockney", "mpi", "nccl"};
  TuneOptions options;
  const int which = ParseChoice("--implementation", texts.implementation, kImplementations);
  if (which > 0) options.implementation = texts.implementation;
  if (!texts.model.empty()) {
    const std::uint64_t rack = ParseCount("--nodes-per-rack", texts.nodes_per_rack);
    options.predictor = SimulatedPredictor(ReadModel(texts.model), static_cast<int>(rack));
  }
  options.shapes.reserve(texts.shapes.size());
  for (const std::string& text : texts.shapes) options.shapes.push_back(ParseShape(text));
  return options;
}

std::vector<ExportForm> ReadExports(const Texts& texts) {
  std::vector<ExportForm> wanted;
  for (const std::string& name : texts.exports) {
    std::string accepted = "one of";
    for (const ExportForm& form : AllExports()) {
      accepted += " " + std::string(form.name);
      if (form.name == name) wanted.push_back(form);
    }
    const bool known = !wanted.empty() && wanted.back().name == name;
    if (!known) FailOption("--export", name, accepted);
  }
  return wanted;
}

// Each consumer gets rules of what was measured with it, whatever the rules of tuning.json are of.
void WriteExports(const std::vector<ExportForm>& forms, std::span<const RunRecords> runs,
                  const std::filesystem::path& folder) {
  for (const ExportForm& form : forms) {
    TuneOptions options{.implementation = std::string(form.implementation)};
    const Exported exported = form.write(ChooseRules(runs, options));
    for (const Exported::File& file : exported.files) {
      std::filesystem::create_directories(folder / "exports");
      const std::string path = (folder / "exports" / file.name).string();
      ReplaceFile(path, file.text);
      fmt::print("export {}: {}\n", form.name, path);
    }
    for (const std::string& note : exported.notes) fmt::print("export {}: {}\n", form.name, note);
  }
}

// Buckets of a training step in place of algorithms.
int RunTraining(const Texts& texts) {
  TrainingTexts training{.model = texts.training,
                         .step = texts.step,
                         .runs = texts.runs,
                         .fitted = texts.model,
                         .shape = {},
                         .nodes_per_rack = texts.nodes_per_rack,
                         .out = texts.out,
                         .exports = texts.exports};
  if (!texts.shapes.empty()) training.shape = ParseShape(texts.shapes.front());
  return TuneTraining(training);
}

int Run(Texts texts) {
  if (!texts.training.empty()) return RunTraining(texts);
  const TuneOptions options = ReadOptions(texts);
  const std::vector<ExportForm> exports = ReadExports(texts);
  const std::vector<RunRecords> runs = ReadGivenRuns(texts.runs);
  const std::vector<MeasuredTable> tables = MeasuredTables(runs, options.implementation);
  if (tables.empty()) {
    throw InputError(fmt::format(
        "{}: no row to tune by: expected rows of hockney sweep with status ok and refreshed "
        "buffers{}",
        texts.runs[0],
        options.implementation.empty() ? "" : ", of implementation " + options.implementation));
  }
  Legality legality;
  Tuning tuning = ChooseRules(tables, options, legality);
  tuning.runs = texts.runs;
  fmt::print("{}\n", RulesTable(tuning));
  const RegretReport regret = ScoreRegret(tables, options, legality);
  const SearchReport search = ScoreSearch(tables, options.rules);
  fmt::print("{}{}", RegretTable(regret), SearchLine(search));
  if (legality.reduced()) {
    fmt::print("programs of more than {} ranks were proved with fewer\n",
               Legality::kMostProvedRanks);
  }
  if (texts.regret && regret.methods.empty()) {
    throw InputError(fmt::format(
        "{}: --regret: expected two launches or more of some cell with two choices or more",
        texts.runs[0]));
  }
  const std::filesystem::path folder = texts.runs[0];
  const std::string out = texts.out.empty() ? (folder / "tuning.json").string() : texts.out;
  nlohmann::ordered_json json = TuningJson(tuning);
  json["regret"] = RegretJson(regret);
  json["active_search"] = SearchJson(search);
  ReplaceFile(out, json.dump(2) + "\n");
  WriteExports(exports, runs, folder);
  fmt::print("\ntuning: {}\n", out);
  return ToInt(ExitCode::kOk);
}

std::string DescribeExports() {
  std::string text = "Also write rules for other libraries into exports/ of the first RUN:";
  for (const ExportForm& form : AllExports()) text += " " + std::string(form.name);
  return text + "; may be given several times";
}

Runner AddTune(CLI::App& program) {
  const auto texts = std::make_shared<Texts>();
  CLI::App& command = *program.add_subcommand(
      "tune", "Choose an algorithm for every size and shape, and say how good the choices are");
  command.add_option("runs", texts->runs,
                     "Run folders of hockney sweep; several count together. Default: the newest in "
                     "hockney-runs");
  command.add_option("--out", texts->out,
                     "The file to write. Default: tuning.json in the first RUN");
  command
      .add_option("--implementation", texts->implementation,
                  "Rules of all that was measured, or of hockney, mpi or nccl alone")
      ->capture_default_str();
  command
      .add_option(
          "--shape", texts->shapes,
          "Also choose for this shape, RANKSxNODES, by model where it was not measured; may "
          "be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option(
      "--model", texts->model,
      "model.json of hockney fit: shapes that were not measured are simulated on it");
  command.add_option("--nodes-per-rack", texts->nodes_per_rack, "With --model; 0: no racks")
      ->capture_default_str();
  command.add_flag("--regret", texts->regret,
                   "Fail where the regret cannot be told; it is told wherever there are two "
                   "launches or more");
  command.add_option("--export", texts->exports, DescribeExports())
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option(
      "--training", texts->training,
      "Choose the bucket size of a training step of this model instead, as hockney step names it, "
      "by --model; "
      "RUN may hold measured steps; --export then takes ddp, fsdp, megatron, deepspeed, horovod");
  AddStepOptions(command, &texts->step);
  command.footer("Example: hockney tune hockney-runs/20261201T120000Z_sweep --shape 16x2");
  return [texts](const Launch& launch) {
    return launch.rank() == 0 ? Run(*texts) : ToInt(ExitCode::kOk);
  };
}

}  // namespace

Command TuneCommand() { return {.name = "tune", .add = AddTune}; }

}  // namespace hockney
