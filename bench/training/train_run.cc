#include "bench/training/train_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "bench/signals.h"

namespace hockney {
namespace {

constexpr int kMostLines = 50;

// Rank 0 says, so that all agree.
bool IsInterrupted(Session& world) {
  std::uint8_t ends = InterruptGuard::Signal() != 0 ? 1 : 0;
  world.Broadcast(std::as_writable_bytes(std::span(&ends, 1)), 0);
  return ends != 0;
}

}  // namespace

double LossDifference(double loss, double of_one_rank) {
  return std::abs(loss - of_one_rank) / std::abs(of_one_rank);
}

TrainOutcome RunTraining(Session& world, MlpTrainer& trainer, MlpTrainer* one_rank, int steps,
                         const std::function<void(const LossRow&)>& keep) {
  TrainOutcome outcome;
  for (int step = 1; step <= steps; ++step) {
    if (IsInterrupted(world)) {
      outcome.finished = false;
      break;
    }
    const double loss = trainer.Step();
    if (one_rank == nullptr) continue;
    LossRow row{.step = step, .loss = loss};
    if (step <= kComparedSteps) {
      row.one_rank_loss = one_rank->Step();
      const double difference = LossDifference(row.loss, *row.one_rank_loss);
      if (!(difference <= kLossTolerance)) outcome.same_loss = false;  // nor if it is no number
      outcome.largest_difference = std::fmax(outcome.largest_difference, difference);
    }
    keep(row);
  }
  return outcome;
}

std::string TrainingHead(const TrainPlan& plan, const std::string& library) {
  return fmt::format(
      "MLP block of {} x {}: {} parameters, {}, {} tokens a step, {}, {}, {}\n\n"
      "{:>8}  {:>14}  {:>14}  {:>10}\n",
      plan.shape.features, plan.shape.inner, Elements(plan.shape), Name(plan.weights), plan.rows,
      Text(plan.degrees), Name(plan.sharding), library, "step", "loss", "one rank's", "difference");
}

std::string LossLine(const LossRow& row, int steps) {
  const int stride = std::max(1, steps / kMostLines);
  if (row.step % stride != 0 && row.step != 1 && row.step != steps) return "";
  const std::string compared = row.one_rank_loss
                                   ? fmt::format("  {:>14.8g}  {:>10.1e}", *row.one_rank_loss,
                                                 LossDifference(row.loss, *row.one_rank_loss))
                                   : "";
  return fmt::format("{:>8}  {:>14.8g}{}\n", row.step, row.loss, compared);
}

std::string TrainingEnd(const TrainOutcome& outcome) {
  return fmt::format(
      "\nlargest difference from one rank's loss in up to {} steps: {:.1e}, {} tolerance {:g}{}\n",
      kComparedSteps, outcome.largest_difference, outcome.same_loss ? "within the" : "above the",
      kLossTolerance, outcome.same_loss ? "" : ": the ranks do not train alike");
}

}  // namespace hockney
