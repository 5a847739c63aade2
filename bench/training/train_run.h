#pragma once

#include <functional>
#include <string>

#include "bench/training/train_mlp.h"
#include "topology/session.h"
#include "tuner/records/loss_row.h"

namespace hockney {

// How far, relatively, a loss may be from that of one rank with the same batches. Both add the same
// float32 terms in other orders: in the first 100 steps of all that was tried they differ by less
// than 1.5e-7, two roundings of the loss itself (with bfloat16 weights, of which some round to the
// other side, 2e-5), and by 3e-3 and more where ranks leave out a collective. Training amplifies
// such differences, to 4e-4 in 5000 steps, so only the first steps are compared.
inline constexpr double kLossTolerance = 1e-4;
inline constexpr int kComparedSteps = 100;

// What the loss differs by, relative to the other. Not a number where either is none.
double LossDifference(double loss, double of_one_rank);

struct TrainOutcome {
  bool finished = true;  // false: the user ended it
  bool same_loss = true;
  double largest_difference = 0;
};

// Runs `steps` steps on all ranks; on rank 0, beside the first kComparedSteps, those of `one_rank`,
// which trains alone and is null on the others, and hands over every row there. Returns rank 0's
// outcome on rank 0. Collective.
TrainOutcome RunTraining(Session& world, MlpTrainer& trainer, MlpTrainer* one_rank, int steps,
                         const std::function<void(const LossRow&)>& keep);

// For people: what is trained, a line for about 50 of `steps` steps, else "", and how it ended.
std::string TrainingHead(const TrainPlan& plan, const std::string& library);
std::string LossLine(const LossRow& row, int steps);
std::string TrainingEnd(const TrainOutcome& outcome);

}  // namespace hockney
