#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/training/step_calls.h"
#include "bench/training/step_runner.h"
#include "tuner/records/step_row.h"
#include "tuner/training/step_plan.h"

namespace hockney {

// One configuration of a step on this rank.
struct StepCase {
  StepRow row;
  StepPlan plan;
  StepGraph graph;
  std::shared_ptr<Computer> computer = {};
  std::unique_ptr<StepCalls> calls = {};
  std::unique_ptr<StepRunner> runner = {};
  // By round: seconds of the slowest rank.
  std::vector<double> whole = {};
  std::vector<double> computing = {};
  std::vector<double> communication = {};
  // Of the whole steps on this rank: by node, the median of its start and end.
  std::vector<NodeTime> times = {};
};

struct MeasureOptions {
  int steps = 10;
  int warmups = 2;
  std::uint64_t seed = 1;
  // After every round, of so many; the rows then hold what there is.
  std::function<void(int done, int rounds)> after_round = {};
};

// Measures the cases round by round, in an order that changes, each as a whole, without
// communication and without computing; checks the gradients of the first and of the last step.
// Fills the rows but for their names. `barrier` is of all ranks of `world`. Returns false if the
// user ended it: what there is by then counts. Collective.
bool MeasureSteps(Session& world, Prepared& barrier, std::vector<StepCase>& cases,
                  const MeasureOptions& options);

}  // namespace hockney
