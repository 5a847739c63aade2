#include "bench/training/train_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "tuner/training/shard_padding.h"

namespace hockney {
namespace {

// 1 GiB of float32: a rank has several vectors of so many.
constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

bool IsSharded(const TrainPlan& plan) { return plan.sharding != Sharding::kDdp; }

int ToInt(std::int64_t number, const char* what) {
  if (number > std::numeric_limits<int>::max())
    throw std::invalid_argument(fmt::format("{} {}: too many to train", number, what));
  return static_cast<int>(number);
}

}  // namespace

std::string WhyNotTrained(const TrainPlan& plan) {
  const ParallelDegrees& degrees = plan.degrees;
  if (degrees.cp * degrees.pp * degrees.ep != 1)
    return fmt::format("{}: expected tp and dp only", Text(degrees));
  if (plan.sharding != Sharding::kDdp && plan.sharding != Sharding::kZero1 &&
      plan.sharding != Sharding::kZero3) {
    return fmt::format("sharding {}: expected ddp, zero1 or zero3", Name(plan.sharding));
  }
  if (plan.weights != DataType::kFloat32 && plan.weights != DataType::kBfloat16) {
    return fmt::format("weights of {}: expected --dtype float32 or bfloat16", Name(plan.weights));
  }
  if (plan.shape.inner % degrees.tp != 0) {
    return fmt::format("inner size {} is no multiple of {} tensor-parallel ranks", plan.shape.inner,
                       degrees.tp);
  }
  if (plan.rows % degrees.dp != 0) {
    return fmt::format("{} tokens are no multiple of {} data-parallel ranks", plan.rows,
                       degrees.dp);
  }
  // One rank trains the whole beside the others.
  if (Elements(plan.shape) > kMostElements ||
      std::int64_t{plan.rows} * std::max(plan.shape.inner, plan.shape.features) > kMostElements) {
    return fmt::format(
        "a block of {} x {} with {} tokens has above {} parameters or activations; expected a "
        "smaller model (--scale hidden=256) or fewer tokens (--seq-length)",
        plan.shape.features, plan.shape.inner, plan.rows, kMostElements);
  }
  return "";
}

TrainPlan TrainPlanOf(const StepPlan& step, std::uint64_t seed) {
  if (!step.model.transformer || step.model.transformer->feed_forward == 0) {
    throw std::invalid_argument(
        fmt::format("{} has no dense MLP block: expected a transformer", step.model.name));
  }
  TrainPlan plan;
  plan.shape = {ToInt(step.model.transformer->hidden, "features"),
                ToInt(step.model.transformer->feed_forward, "features")};
  plan.degrees = step.degrees;
  plan.sharding = step.sharding;
  plan.weights = step.model.parameters.front().type;
  plan.rows =
      ToInt(step.micro_batches * step.micro_batch * step.model.tokens_per_sample * step.degrees.dp,
            "tokens");
  plan.seed = seed;
  if (const std::string why = WhyNotTrained(plan); !why.empty()) throw std::invalid_argument(why);
  return plan;
}

TrainPlan OneRank(const TrainPlan& plan) {
  TrainPlan alone = plan;
  alone.degrees = {};
  alone.sharding = Sharding::kDdp;
  return alone;
}

MlpShape PartOf(const TrainPlan& plan) {
  return {plan.shape.features, plan.shape.inner / static_cast<int>(plan.degrees.tp)};
}

int RowsOf(const TrainPlan& plan) { return plan.rows / static_cast<int>(plan.degrees.dp); }

std::int64_t PaddedElements(const TrainPlan& plan) {
  return PaddedElements(Elements(PartOf(plan)), IsSharded(plan) ? plan.degrees.dp : 1);
}

std::int64_t MasterElements(const TrainPlan& plan) {
  return PaddedElements(plan) / (IsSharded(plan) ? plan.degrees.dp : 1);
}

}  // namespace hockney
