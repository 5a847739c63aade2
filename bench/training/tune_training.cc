#include "bench/training/tune_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/exit_codes.h"
#include "bench/options.h"
#include "bench/text_table.h"
#include "topology/check.h"
#include "tuner/exports/buckets.h"
#include "tuner/model/model.h"
#include "tuner/records.h"
#include "tuner/records/line_file.h"
#include "tuner/simulate/machine_of_model.h"
#include "tuner/simulate/predict.h"
#include "tuner/statistics.h"
#include "tuner/training/choose_bucket.h"
#include "tuner/training/plan_of_row.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kTellableMs = 15;  // less exposed time is of the size of what disturbs it
constexpr double kNear = 0.1;

std::string Ms(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }
std::string Percent(double share) { return fmt::format("{:+.1f} %", share * 100); }

// Whether gradients are reduced in buckets at all.
bool BucketsMatter(const StepPlan& plan) {
  return !GathersParameters(plan.sharding) && plan.degrees.dp * plan.degrees.cp > 1;
}

const BucketExport& ExportNamed(const std::string& name) {
  const auto all = AllBucketExports();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const BucketExport& each) { return each.name == name; });
  if (found == all.end())
    FailOption("--export", name, "with --training one of ddp, fsdp, megatron, deepspeed, horovod");
  return *found;
}

class TrainingTuner {
 public:
  explicit TrainingTuner(const TrainingTexts& texts) : texts_(texts) {}
  int Run();

 private:
  void ReadRows();
  void ReadFitted();
  StepRow PlannedRow() const;
  SimMachine MachineFor(const StepRow& row) const;
  std::string BucketsText(const BucketChoice& choice) const;
  std::string ErrorsText();
  void WriteExports(const BucketChoice& choice, const fs::path& folder) const;
  Json ChoiceJson(const BucketChoice& choice) const;

  const TrainingTexts& texts_;
  std::vector<StepRow> measured_;
  Model fitted_;
  StepRow row_;
  Json errors_ = Json::array();
};

void TrainingTuner::ReadRows() {
  for (const std::string& run : texts_.runs) {
    if (ReadRun(run).is_null())
      throw InputError(run + ": no run.json: expected a run folder, as hockney step makes it");
    if (!fs::exists(fs::path(run) / "step.csv")) continue;
    for (StepRow& row : ReadSteps(run)) measured_.push_back(std::move(row));
  }
}

void TrainingTuner::ReadFitted() {
  std::string path = texts_.fitted;
  for (const std::string& run : texts_.runs) {
    if (path.empty() && fs::exists(fs::path(run) / "model.json"))
      path = (fs::path(run) / "model.json").string();
  }
  if (path.empty()) {
    throw UsageError(
        "--training needs a model of the links: expected --model model.json, made by hockney fit");
  }
  fitted_ = ReadModel(path);
}

// The plan of the first measured row of the model, or what the options say.
StepRow TrainingTuner::PlannedRow() const {
  for (const StepRow& row : measured_) {
    if (row.model == texts_.model) return row;
  }
  StepRow row = ReadStepOptions(texts_.step);
  row.model = texts_.model;
  if (!texts_.shape) {
    throw UsageError(
        fmt::format("--shape: expected RANKSxNODES, for example 16x2, since no run has steps of {}",
                    texts_.model));
  }
  row.ranks = texts_.shape->ranks;
  row.nodes = texts_.shape->nodes;
  return row;
}

SimMachine TrainingTuner::MachineFor(const StepRow& row) const {
  const std::uint64_t rack = ParseCount("--nodes-per-rack", texts_.nodes_per_rack);
  return MachineOfModel(fitted_,
                        BlockPlacement(static_cast<int>(row.ranks), static_cast<int>(row.nodes),
                                       static_cast<int>(rack)));
}

std::string TrainingTuner::BucketsText(const BucketChoice& choice) const {
  const double base = choice.buckets.front().shares.step;
  std::vector<std::vector<std::string>> table = {
      {"bucket cap", "buckets", "step_ms", "compute_ms", "communication_ms", "exposed_ms",
       "latency_ms", "late start_ms", "link_ms", "gain", "measured_ms", "error", "choice"}};
  for (std::size_t i = 0; i < choice.buckets.size(); ++i) {
    const PredictedBucket& each = choice.buckets[i];
    const StepShares& shares = each.shares;
    const bool ties = std::find(choice.ties.begin(), choice.ties.end(), i) != choice.ties.end();
    table.push_back(
        {BucketCapText(each.cap_bytes), std::to_string(each.buckets), Ms(shares.step),
         Ms(shares.compute), Ms(shares.communication), Ms(shares.exposed), Ms(each.causes.latency),
         Ms(each.causes.late_start), Ms(each.causes.link),
         fmt::format("{:.3f}x", base / shares.step),
         each.measured_seconds ? Ms(*each.measured_seconds) : "-",
         each.measured_seconds ? Percent(shares.step / *each.measured_seconds - 1) : "-",
         i == choice.best ? "best"
         : ties           ? "as good"
                          : "-"});
  }
  return FormatTable(table) +
         "predicted, but for measured_ms; exposed = latency (buckets too small) + late start "
         "(buckets too large) + link (too "
         "slow for what there is to hide behind); gain: over the default; as good: within 1 %\n";
}

// What was predicted of every measured step, whatever its plan.
std::string TrainingTuner::ErrorsText() {
  std::vector<std::vector<std::string>> table = {{"sharding", "parallel", "ranks", "bucket cap",
                                                  "measured_ms", "predicted_ms", "error",
                                                  "exposed_ms", "predicted"}};
  std::vector<double> errors;
  std::size_t exposing = 0;
  std::size_t near = 0;
  for (const StepRow& row : measured_) {
    if (row.status != Status::kOk || !row.step_ms_median || row.compute != "emulate") continue;
    const StepShares shares = PredictStep(row, MachineFor(row));
    const double error = shares.step * 1e3 / *row.step_ms_median - 1;
    errors.push_back(std::abs(error));
    if (*row.exposed_ms >= kTellableMs) {
      ++exposing;
      if (std::abs(shares.exposed * 1e3 / *row.exposed_ms - 1) <= kNear) ++near;
    }
    errors_.push_back({{"sharding", row.sharding},
                       {"parallel", row.parallel},
                       {"measured_ms", *row.step_ms_median},
                       {"predicted_ms", shares.step * 1e3},
                       {"exposed_ms", *row.exposed_ms},
                       {"predicted_exposed_ms", shares.exposed * 1e3}});
    table.push_back({row.sharding, row.parallel.empty() ? "dp" : row.parallel,
                     std::to_string(row.ranks), BucketCapText(row.bucket_cap_bytes),
                     fmt::format("{:.2f}", *row.step_ms_median), Ms(shares.step), Percent(error),
                     fmt::format("{:.2f}", *row.exposed_ms), Ms(shares.exposed)});
  }
  if (errors.empty()) return "";
  double sum = 0;
  for (const double error : errors) sum += error;
  return fmt::format(
      "\n{}{} measured steps: mean error {:.1f} %, largest {:.1f} %; exposed time within {:.0f} % "
      "in {} of {} that expose {:g} ms "
      "or more\n",
      FormatTable(table), errors.size(), 100 * sum / static_cast<double>(errors.size()),
      100 * *std::max_element(errors.begin(), errors.end()), 100 * kNear, near, exposing,
      kTellableMs);
}

void TrainingTuner::WriteExports(const BucketChoice& choice, const fs::path& folder) const {
  const StepPlan plan = PlanOfRow(row_);
  const std::int64_t cap = choice.buckets[choice.best].cap_bytes.value_or(kDefaultBucketCap);
  for (const std::string& name : texts_.exports) {
    const BucketExport& found = ExportNamed(name);
    if (name != "fsdp" && !BucketsMatter(plan)) {
      throw UsageError(
          fmt::format("--export {}: this step has no buckets that it could set", name));
    }
    fs::create_directories(folder / "exports");
    const std::string path = (folder / "exports" / std::string(found.file_name)).string();
    const std::string text = found.text(plan, cap);
    ReplaceFile(path, text);
    fmt::print("\nexport {}: {}\n{}", name, path, text);
  }
}

Json TrainingTuner::ChoiceJson(const BucketChoice& choice) const {
  Json buckets = Json::array();
  for (const PredictedBucket& each : choice.buckets) {
    buckets.push_back({{"cap_bytes", each.cap_bytes ? Json(*each.cap_bytes) : Json()},
                       {"buckets", each.buckets},
                       {"predicted_step_ms", each.shares.step * 1e3},
                       {"predicted_exposed_ms", each.shares.exposed * 1e3},
                       {"latency_ms", each.causes.latency * 1e3},
                       {"late_start_ms", each.causes.late_start * 1e3},
                       {"link_ms", each.causes.link * 1e3},
                       {"measured_step_ms",
                        each.measured_seconds ? Json(*each.measured_seconds * 1e3) : Json()}});
  }
  return {{"schema", 1},         {"model", row_.model},
          {"best", choice.best}, {"as_good", choice.ties},
          {"buckets", buckets},  {"measured", errors_}};
}

int TrainingTuner::Run() {
  for (const std::string& name : texts_.exports) static_cast<void>(ExportNamed(name));
  ReadRows();
  ReadFitted();
  row_ = PlannedRow();
  try {
    const StepPlan plan = PlanOfRow(row_);
    StepTexts sweep = texts_.step;
    if (sweep.sweep_buckets.empty()) sweep.sweep_buckets = "auto";
    auto caps = ReadBucketSweep(sweep, row_.bucket_cap_bytes, TotalBytes(plan.model));
    for (const StepRow& row : measured_) {
      const bool is_new = std::find(caps.begin(), caps.end(), row.bucket_cap_bytes) == caps.end();
      if (is_new && SameStep(row, row_)) caps.push_back(row.bucket_cap_bytes);
    }
    std::sort(caps.begin() + 1, caps.end());
    const BucketChoice choice = ChooseBucket(row_, caps, measured_, MachineFor(row_));
    const PredictedBucket& best = choice.buckets[choice.best];
    fmt::print("{} on {} ranks of {} nodes, {}, {}\n\n{}", plan.model.name, row_.ranks, row_.nodes,
               Text(plan.degrees), row_.sharding, BucketsText(choice));
    fmt::print("\nbucket cap {}: step {} ms as predicted, {} over the default\n",
               BucketCapText(best.cap_bytes), Ms(best.shares.step),
               Percent(choice.buckets.front().shares.step / best.shares.step - 1));
    if (!BucketsMatter(plan)) {
      fmt::print("buckets change nothing here: {} has none, or one rank holds each gradient\n",
                 row_.sharding);
    }
    fmt::print("{}", ErrorsText());
    const fs::path folder = texts_.runs.empty() ? fs::path(".") : fs::path(texts_.runs.front());
    const std::string out = texts_.out.empty() ? (folder / "training.json").string() : texts_.out;
    ReplaceFile(out, ChoiceJson(choice).dump(2) + "\n");
    WriteExports(choice, folder);
    fmt::print("\ntraining: {}\n", out);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return ToInt(ExitCode::kOk);
}

}  // namespace

int TuneTraining(const TrainingTexts& texts) { return TrainingTuner(texts).Run(); }

}  // namespace hockney
