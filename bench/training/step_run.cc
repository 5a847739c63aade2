#include "bench/training/step_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/earlier_launches.h"
#include "bench/facts.h"
#include "bench/failure.h"
#include "bench/json_values.h"
#include "bench/last_words.h"
#include "bench/options.h"
#include "bench/shaping.h"
#include "bench/training/cublas_computer.h"
#include "bench/training/gemm_computer.h"
#include "bench/training/same_model.h"
#include "bench/training/step_devices.h"
#include "bench/training/step_measure.h"
#include "bench/training/step_report.h"
#include "bench/training/train_calls.h"
#include "bench/training/train_run.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/collect_topology.h"
#include "tuner/records.h"
#include "tuner/training/build_step.h"
#include "tuner/training/plan_of_row.h"
#include "tuner/training/step_json.h"

namespace hockney {
namespace {

constexpr const char* kUnfinished = "step_unfinished.csv";
constexpr double kWorthSaying = 10;  // seconds

class StepRun {
 public:
  StepRun(Session& session, const StepCommandTexts& texts, const StepCommandOptions& options,
          const Launch& launch)
      : session_(session),
        texts_(texts),
        row_(options.row),
        peer_memory_(options.peer_memory),
        launch_(launch),
        gemm_(options.gemm),
        local_(session.SplitSharedMemory()),
        place_(PlaceRank(session, local_)) {}
  int Run();

 private:
  ExitCode Measure();
  ExitCode Train();
  StepCalls::Options CallOptions() const;
  // Null where calls have deadlines of their own.
  Watchdog* MpisWatchdog() const {
    return row_.implementation == "mpi" ? &launch_.watchdog() : nullptr;
  }
  void FindPlacement();
  void OpenDevices();
  void MakeCases();
  void AddCase(std::optional<std::int64_t> cap_bytes);
  void PrepareGround();
  void PrepareCases();
  void OpenFolder();
  void WriteRun(const char* outcome, std::optional<ExitCode> code);
  void KeepRows(int done, int rounds, double seconds);
  void WriteResults();
  void NoteFailure(ExitCode code) noexcept;

  Session& session_;
  const StepCommandTexts& texts_;
  StepRow row_;
  PeerMemoryKind peer_memory_;
  const Launch& launch_;
  std::shared_ptr<const Gemm> gemm_;
  Session local_;
  RankPlace place_;
  std::optional<RankPlacement> placement_;
  std::optional<StepDevices> devices_;      // nothing: buffers are on the host
  std::shared_ptr<CublasComputer> cublas_;  // of all cases; null: something else computes
  HostGround ground_;                       // of all ranks
  std::unique_ptr<Prepared> barrier_;
  std::vector<StepCase> cases_;
  nlohmann::ordered_json run_;
  nlohmann::ordered_json earlier_launches_ = nlohmann::ordered_json::array();
  std::optional<RunFolder> folder_;
  double first_round_seconds_ = 0;
};

void StepRun::FindPlacement() {
  SwitchTree tree = ReadSwitchTree(session_, texts_.sources);
  placement_ =
      PlacementOf(CollectTopology(session_, local_, ReportOfThisRank(local_), std::move(tree)));
  row_.ranks = session_.ranks();
  row_.nodes = place_.hosts;
}

void StepRun::OpenDevices() {
  if (row_.memory_kind != "cuda") return;
  devices_.emplace(session_, local_, launch_.devices());
  if (row_.compute != "gemm") return;
  RunOnAllOrThrow(session_, [&] {
    cublas_ = std::make_shared<CublasComputer>(devices_->computing(), Cublas::Load(),
                                               CublasComputer::Options{});
  });
}

void StepRun::AddCase(std::optional<std::int64_t> cap_bytes) {
  StepCase added;
  added.row = row_;
  added.row.bucket_cap_bytes = cap_bytes;
  added.plan = PlanOfRow(added.row);
  added.graph = BuildStep(added.plan, session_.rank());
  if (cublas_) {
    added.computer = cublas_;
  } else if (added.row.compute == "gemm") {
    added.computer = std::make_unique<GemmComputer>(gemm_);
  } else {
    AssignTimes(added.graph, added.plan.model, added.plan.micro_batch,
                CostOfRow(added.row, added.plan.model));
    added.computer = std::make_unique<EmulatedComputer>();
  }
  cases_.push_back(std::move(added));
}

void StepRun::MakeCases() {
  try {
    StepPlan plan;
    RunOnAllOrThrow(session_, [&] { plan = PlanOfRow(row_); });
    RequireSameModel(session_, plan.model);
    RunOnAllOrThrow(session_, [&] {
      for (const auto& cap :
           ReadBucketSweep(texts_.step, row_.bucket_cap_bytes, TotalBytes(plan.model)))
        AddCase(cap);
      if (texts_.train > 0) static_cast<void>(TrainPlanOf(plan, texts_.seed));
    });
  } catch (const std::invalid_argument& error) {
    throw Agreed<UsageError>(error.what());
  }
}

StepCalls::Options StepRun::CallOptions() const {
  StepCalls::Options options{.implementation = static_cast<StepImplementation>(ParseChoice(
                                 "--implementation", row_.implementation, kStepImplementations)),
                             .executor = {.oversubscribed = place_.oversubscribed,
                                          .timeout_seconds = texts_.ranks.timeout_seconds},
                             .interfaces = launch_.interfaces()};
  if (!devices_) return options;
  options.device = &devices_->communicating();
  options.peer_memory = peer_memory_;
  options.path = devices_->path();
  return options;
}

void StepRun::PrepareGround() {
  HostGroundOptions options{.executor = CallOptions().executor, .interfaces = launch_.interfaces()};
  options.domain.lanes = 1;
  ground_ = MakeHostGround(session_, local_, options);
  if (devices_ && ground_.wire) devices_->ChoosePath(session_, *ground_.wire);
  if (devices_) devices_->AddFacts(session_, &run_);
}

void StepRun::PrepareCases() {
  barrier_ = PrepareBarrier(*ground_.executor, *ground_.domain, place_.hosts == 1);
  const RankPlacement* placement = placement_ ? &*placement_ : nullptr;
  for (StepCase& each : cases_) {
    if (cublas_) RunOnAllOrThrow(session_, [&] { cublas_->WarmUp(each.graph); });
    each.calls =
        std::make_unique<StepCalls>(session_, ground_, placement, each.graph, CallOptions());
    std::vector<StepRunner::NodeCall> calls;
    calls.reserve(each.graph.nodes.size());
    for (std::size_t node = 0; node < each.graph.nodes.size(); ++node) {
      calls.push_back({each.calls->At(node), each.calls->SignalAt(node)});
    }
    each.runner =
        std::make_unique<StepRunner>(each.graph, std::move(calls), *each.computer, MpisWatchdog());
  }
  run_["library"] = TextOrNull(cases_.front().calls->Library());
}

void StepRun::WriteRun(const char* outcome, std::optional<ExitCode> code) {
  SetOutcome(run_, "step", outcome, code);
  run_["launches"] = earlier_launches_;
  run_["launches"].push_back({{"launch", earlier_launches_.size()},
                              {"start_utc", run_["start_utc"]},
                              {"command_line", run_["command_line"]},
                              {"seed", texts_.seed},
                              {"outcome", outcome}});
  folder_->WriteRun(run_);
}

void StepRun::OpenFolder() {
  run_ = CollectFacts(session_, place_,
                      {.command_line = launch_.arguments(), .rank_source = launch_.rank_source()});
  static_cast<void>(ReadShaping(session_, &run_["shaping"]));
  run_["oversubscribed"] = place_.oversubscribed;
  run_["compute"] = cases_.front().computer->Describe();
  run_["memory_kind"] = row_.memory_kind;
  RunOnAllOrThrow(session_, [&] {
    if (session_.rank() != 0) return;
    const auto path = texts_.out.empty() ? DefaultRunPath("step", std::chrono::system_clock::now())
                                         : std::filesystem::path(texts_.out);
    const CsvHeader header = {{"hockney", "step"}};
    if (texts_.append) {
      earlier_launches_ = EarlierLaunches(path, "step", run_);
      for (StepCase& each : cases_)
        each.row.launch = static_cast<std::int64_t>(earlier_launches_.size());
    }
    folder_ = texts_.append ? RunFolder::Append(path, header) : RunFolder::Create(path, header);
    WriteRun("running", std::nullopt);
  });
  LeaveLastWords(session_, launch_.watchdog(), folder_ ? folder_->path() : "");
}

// What there is so far, for whoever loses a rank later; and after the second round, how long it
// will take.
void StepRun::KeepRows(int done, int rounds, double seconds) {
  std::string text = NamesLine<StepRow>();
  for (const StepCase& each : cases_) text += RowLine(each.row);
  folder_->WriteText(kUnfinished, text);
  // The first round takes longer than others.
  if (done == 1) first_round_seconds_ = seconds;
  const double left = (seconds - first_round_seconds_) * (rounds - done);
  if (done != 2 || left < kWorthSaying) return;
  fmt::print(stderr, "hockney step: {} configuration{}, about {:.0f} s\n", cases_.size(),
             cases_.size() == 1 ? "" : "s", left);
}

void StepRun::WriteResults() {
  std::vector<StepRow> rows;
  rows.reserve(cases_.size());
  for (const StepCase& each : cases_) rows.push_back(each.row);
  folder_->AppendSteps(rows);
  std::filesystem::remove(folder_->path() / kUnfinished);
  const StepPlan& plan = cases_.front().plan;
  fmt::print("{}: {} parameters, {}, {} of {} ranks, compute {}{}\n\n", plan.model.name,
             TotalElements(plan.model), Text(plan.degrees), Name(plan.sharding), row_.ranks,
             cases_.front().computer->Describe(), devices_ ? ", memory cuda" : "");
  fmt::print("{}", StepTable(cases_));
  const auto fastest =
      std::min_element(cases_.begin(), cases_.end(), [](const StepCase& a, const StepCase& b) {
        return a.row.step_ms_median.value_or(1e300) < b.row.step_ms_median.value_or(1e300);
      });
  if (fastest->times.empty()) return;
  if (cases_.size() > 1)
    fmt::print("\nfastest: bucket cap {}\n", BucketCapText(fastest->row.bucket_cap_bytes));
  fmt::print("\n{}", BucketTable(*fastest));
  if (fastest->row.gradient_buckets == 1) {
    fmt::print(
        "warning: one bucket holds all gradients, so no reduction can overlap the backward pass\n");
  }
  folder_->WriteText("timeline.json", StepTrace({&fastest->graph, 1}, {&fastest->times, 1}));
  folder_->WriteText("step_graph.json", GraphJson(fastest->graph).dump(1) + "\n");
}

ExitCode StepRun::Measure() {
  PrepareCases();
  const auto begin = StepClock::now();
  const auto after_round = [this, begin](int done, int rounds) {
    if (folder_)
      KeepRows(done, rounds, std::chrono::duration<double>(StepClock::now() - begin).count());
  };
  const bool finished = MeasureSteps(session_, *barrier_, cases_,
                                     {.steps = texts_.steps,
                                      .warmups = texts_.warmups,
                                      .seed = texts_.seed,
                                      .after_round = after_round});
  std::int64_t errors = 0;
  for (const StepCase& each : cases_) errors += each.row.data_errors;
  if (folder_) {
    if (errors > 0) fmt::print(stderr, "hockney step: wrong gradients, see status\n");
    WriteResults();
  }
  return !finished ? ExitCode::kInterrupted : errors > 0 ? ExitCode::kWrongData : ExitCode::kOk;
}

ExitCode StepRun::Train() {
  const TrainPlan plan = TrainPlanOf(cases_.front().plan, texts_.seed);
  const TrainCalls calls(session_, ground_, placement_ ? &*placement_ : nullptr, plan,
                         CallOptions());
  MlpTrainer trainer(plan, session_.rank(), gemm_, calls.Exchanges(MpisWatchdog()));
  std::optional<MlpTrainer> one_rank;
  if (folder_) {
    one_rank.emplace(OneRank(plan), 0, gemm_, TrainExchanges{});
    fmt::print("{}", TrainingHead(plan, gemm_->library()));
  }
  const TrainOutcome outcome = RunTraining(session_, trainer, one_rank ? &*one_rank : nullptr,
                                           texts_.train, [&](const LossRow& row) {
                                             folder_->AppendLosses({&row, 1});
                                             fmt::print("{}", LossLine(row, texts_.train));
                                           });
  if (folder_) fmt::print("{}", TrainingEnd(outcome));
  return !outcome.finished    ? ExitCode::kInterrupted
         : !outcome.same_loss ? ExitCode::kWrongData
                              : ExitCode::kOk;
}

// The failure itself is what counts, also where the disk is too full for this.
void StepRun::NoteFailure(ExitCode code) noexcept {
  try {
    if (folder_) WriteRun("failed", code);
  } catch (const std::exception&) {
    return;
  }
}

int StepRun::Run() {
  FindPlacement();
  OpenDevices();
  MakeCases();
  OpenFolder();
  launch_.watchdog().SetActivity("steps");
  ExitCode code = ExitCode::kOk;
  try {
    PrepareGround();
    code = texts_.train > 0 ? Train() : Measure();
  } catch (const TimeoutError&) {
    throw;  // the last words say it
  } catch (const std::exception&) {
    NoteFailure(CurrentFailure().code);
    throw;
  }
  if (folder_) {
    const bool finished = code != ExitCode::kInterrupted;
    if (!finished) fmt::print(stderr, "hockney step: interrupted; what was finished is kept\n");
    WriteRun(finished ? "finished" : "interrupted", code);
    fmt::print("\nrun folder: {}\n", folder_->path().string());
  }
  session_.Barrier();  // nobody leaves before the folder is complete
  launch_.watchdog().SetLastWords({});
  return session_.rank() == 0 ? ToInt(code) : 0;
}

}  // namespace

int RunStep(Session& session, const StepCommandTexts& texts, const StepCommandOptions& options,
            const Launch& launch) {
  return StepRun(session, texts, options, launch).Run();
}

}  // namespace hockney
