#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/training/adamw.h"
#include "bench/training/exchange.h"
#include "bench/training/mlp.h"
#include "bench/training/train_plan.h"
#include "tuner/training/rank_layout.h"

namespace hockney {

// One rank of a training that is real: an MLP block learns from a fixed random block of the same
// shape, by mean squared error and AdamW with float32 master parameters, from which those that it
// computes with are rounded. Batches follow from the seed and the number of the sample, so that
// however ranks share out the work they train alike.
//   ddp: means of gradients are all-reduced. zero1: they are reduce-scattered, each rank updates
//   its shard of the parameters, which are all-gathered then. zero3: they are kept as shards,
//   gathered before the forward and again before the backward pass and dropped in between. tp:
//   outputs are added up in the forward pass, gradients of the input in the backward pass.
class MlpTrainer {
 public:
  // The exchanges' buffers fit the plan, and what they point to outlives the trainer.
  MlpTrainer(const TrainPlan& plan, std::int64_t rank, const std::shared_ptr<const Gemm>& gemm,
             const TrainExchanges& exchanges);

  // Does a step and returns the mean squared error of the global batch before its update. All ranks
  // call it.
  double Step();

  // Of the last step: the global batch's gradients of the parameters that this rank updates,
  // padding included.
  std::span<const float> mean_gradients() const { return master_gradients_; }

 private:
  void FillBatch();
  double Forward();
  void Backward();
  void Update();
  void GatherParameters();
  void DropParameters();
  double MeanLoss(double own) const;

  TrainPlan plan_;
  TrainExchanges exchanges_;
  LayoutPlace place_;
  Mlp<float> model_;
  Mlp<float> teacher_;
  std::vector<float> teacher_parameters_;
  std::vector<float> parameters_;  // of this tensor-parallel rank
  std::vector<float> gradients_;
  std::vector<float> master_;  // all of these, or a shard
  std::vector<float> master_gradients_;
  std::vector<float> weights_;  // the master's, rounded
  AdamW optimizer_;
  std::vector<float> inputs_;
  std::vector<float> targets_;
  std::vector<float> outputs_;
  std::vector<float> output_gradients_;
  std::vector<float> input_gradients_;
  std::int64_t steps_ = 0;
};

}  // namespace hockney
