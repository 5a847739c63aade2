#pragma once

#include <optional>

#include "bench/training/exchange.h"
#include "bench/training/step_calls.h"
#include "bench/training/train_plan.h"

namespace hockney {

// The collectives of a step of training as a graph without computing, and the numbers of its nodes;
// nothing where a rank is alone.
struct TrainGraph {
  StepGraph graph = {};
  std::optional<std::size_t> outputs = {};
  std::optional<std::size_t> input_gradients = {};
  std::optional<std::size_t> gradients = {};
  std::optional<std::size_t> parameters = {};
  std::optional<std::size_t> loss = {};
};

TrainGraph MakeTrainGraph(const TrainPlan& plan, std::int64_t rank);

// The same, by the executors of a step, ready to run.
class TrainCalls {
 public:
  // Arguments and errors are those of StepCalls. Collective over `world`.
  TrainCalls(Session& world, const HostGround& world_ground, const RankPlacement* placement,
             const TrainPlan& plan, const StepCalls::Options& options);

  // Valid while this lives. Calls are guarded by `watchdog` if there is one.
  TrainExchanges Exchanges(Watchdog* watchdog = nullptr) const;

 private:
  Exchange ExchangeOf(std::optional<std::size_t> node, Watchdog* watchdog) const;

  TrainGraph graph_;
  StepCalls calls_;
};

}  // namespace hockney
