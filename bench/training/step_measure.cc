#include "bench/training/step_measure.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/signals.h"
#include "topology/gather_values.h"
#include "tuner/statistics.h"
#include "tuner/training/plan_of_row.h"

namespace hockney {
namespace {

class StepMeasurement {
 public:
  StepMeasurement(Session& world, Prepared& barrier, std::vector<StepCase>& cases,
                  const MeasureOptions& options)
      : world_(world), barrier_(barrier), cases_(cases), options_(options) {}
  bool Run();

 private:
  double RunPart(StepCase& each, StepPart part);
  void CheckStep(StepCase& each, std::uint64_t seed);
  bool RunRound(bool counts);
  bool IsInterrupted();
  void KeepTimes(std::size_t number);
  static void FillRow(StepCase& each);

  Session& world_;
  Prepared& barrier_;
  std::vector<StepCase>& cases_;
  const MeasureOptions& options_;
  std::mt19937_64 random_{1};                                   // alike on all ranks
  std::vector<std::vector<std::vector<NodeTime>>> times_ = {};  // by case and round
};

double StepMeasurement::RunPart(StepCase& each, StepPart part) {
  barrier_.Run();
  return MaxOverRanks(world_, each.runner->Run(part));
}

void StepMeasurement::CheckStep(StepCase& each, std::uint64_t seed) {
  each.calls->FillGradients(seed);
  RunPart(each, StepPart::kWhole);
  const CheckResult mine = each.calls->CheckGradients(seed);
  // Groups of different ranks have checked for themselves.
  const std::uint64_t errors = MaxOverRanks(world_, mine.errors);
  if (errors == 0) return;
  each.row.data_errors += static_cast<std::int64_t>(errors);
  each.row.status = Status::kWrongData;
  if (each.row.reason.empty())
    each.row.reason = mine.reason.empty() ? "gradients of other ranks" : mine.reason;
}

// Returns false if the user ended it.
bool StepMeasurement::RunRound(bool counts) {
  std::vector<std::size_t> order(cases_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random_);
  for (const std::size_t number : order) {
    StepCase& each = cases_[number];
    const double whole = RunPart(each, StepPart::kWhole);
    if (counts)
      times_[number].emplace_back(each.runner->times().begin(), each.runner->times().end());
    const double computing = RunPart(each, StepPart::kComputing);
    const double communication = RunPart(each, StepPart::kCommunication);
    if (counts) {
      each.whole.push_back(whole);
      each.computing.push_back(computing);
      each.communication.push_back(communication);
    }
    if (IsInterrupted()) return false;
  }
  return true;
}

// Rank 0 says, so that all agree.
bool StepMeasurement::IsInterrupted() {
  std::uint8_t ends = InterruptGuard::Signal() != 0 ? 1 : 0;
  world_.Broadcast(std::as_writable_bytes(std::span(&ends, 1)), 0);
  return ends != 0;
}

void StepMeasurement::KeepTimes(std::size_t number) {
  StepCase& each = cases_[number];
  each.times.resize(each.graph.nodes.size());
  for (std::size_t node = 0; node < each.times.size(); ++node) {
    std::vector<double> starts;
    std::vector<double> ends;
    for (const auto& round : times_[number]) {
      starts.push_back(round[node].start);
      ends.push_back(round[node].end);
    }
    each.times[node] = {Median(starts), Median(ends)};
  }
}

void StepMeasurement::FillRow(StepCase& each) {
  CountCollectives(each.graph, each.row);
  each.row.steps = static_cast<std::int64_t>(each.whole.size());
  if (each.whole.empty()) return;
  const Summary step = Summarize(each.whole);
  each.row.step_ms_median = step.median * 1e3;
  if (step.ci_confident) {
    each.row.step_ms_ci_low = step.ci_low * 1e3;
    each.row.step_ms_ci_high = step.ci_high * 1e3;
  }
  each.row.compute_ms = Median(each.computing) * 1e3;
  each.row.communication_ms = Median(each.communication) * 1e3;
  each.row.exposed_ms = *each.row.step_ms_median - *each.row.compute_ms;
  each.row.hidden_ms = *each.row.communication_ms - *each.row.exposed_ms;
  RateStep(each.plan, each.row);
}

bool StepMeasurement::Run() {
  times_.resize(cases_.size());
  for (StepCase& each : cases_) CheckStep(each, options_.seed);
  bool goes_on = !IsInterrupted();
  const int rounds = options_.warmups + options_.steps;
  for (int round = 0; goes_on && round < rounds; ++round) {
    goes_on = RunRound(round >= options_.warmups);
    for (StepCase& each : cases_) FillRow(each);
    if (options_.after_round) options_.after_round(round + 1, rounds);
  }
  if (goes_on) {
    for (StepCase& each : cases_) CheckStep(each, options_.seed + 1);
  }
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    StepCase& each = cases_[i];
    if (!each.whole.empty()) {
      KeepTimes(i);
    } else if (each.row.status == Status::kOk) {
      each.row.status = Status::kSkipped;
      each.row.reason = "interrupted before its first step";
    }
  }
  return goes_on;
}

}  // namespace

bool MeasureSteps(Session& world, Prepared& barrier, std::vector<StepCase>& cases,
                  const MeasureOptions& options) {
  return StepMeasurement(world, barrier, cases, options).Run();
}

}  // namespace hockney
