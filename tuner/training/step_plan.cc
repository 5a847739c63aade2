#include "tuner/training/step_plan.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace hockney {
namespace {

constexpr std::array<std::pair<std::string_view, Sharding>, 7> kShardings = {
    {{"ddp", Sharding::kDdp},
     {"zero1", Sharding::kZero1},
     {"zero2", Sharding::kZero2},
     {"zero3", Sharding::kZero3},
     {"hybrid", Sharding::kHybrid},
     {"fsdp", Sharding::kZero3},
     {"hsdp", Sharding::kHybrid}}};

// Every pass is a node of the graph, and more is a slip of the finger.
constexpr std::int64_t kMostMicroBatches = 16384;
constexpr std::int64_t kMostSamples = 65536;

std::string WhyNotPipelined(const StepPlan& plan) {
  const PipelineShape shape{.kind = plan.pipeline,
                            .ranks = plan.degrees.pp,
                            .micro_batches = plan.micro_batches,
                            .chunks = plan.chunks};
  if (plan.degrees.pp == 1)
    return plan.chunks == 1 ? "" : "one pipeline rank cannot have several chunks";
  return WhyNotScheduled(shape);
}

std::string WhyNotShared(const StepPlan& plan) {
  const std::int64_t data = plan.degrees.dp * plan.degrees.cp;
  if (plan.sharding == Sharding::kHybrid) {
    if (plan.shard_ranks < 1 || data % plan.shard_ranks != 0) {
      return fmt::format(
          "--shard-ranks: {}: {} data-parallel ranks are no multiple of it: expected --shard-ranks "
          "that divides them",
          plan.shard_ranks, data);
    }
    if (plan.degrees.ep > 1) return "hybrid sharding of experts: expected ep=1";
  }
  if (plan.sharding != Sharding::kHybrid && plan.shard_ranks != 0)
    return fmt::format("--shard-ranks {}: expected none but with --sharding hybrid",
                       plan.shard_ranks);
  if (plan.prefetch < 0 || plan.prefetch > 2)
    return fmt::format("--prefetch {}: expected 0, 1 or 2", plan.prefetch);
  if (!GathersParameters(plan.sharding) && plan.prefetch != StepPlan().prefetch)
    return fmt::format("--prefetch {}: expected none but with --sharding zero3 or hybrid",
                       plan.prefetch);
  return "";
}

}  // namespace

std::string_view Name(Sharding sharding) {
  for (const auto& [name, each] : kShardings) {
    if (each == sharding) return name;
  }
  return "";
}

std::optional<Sharding> ParseSharding(std::string_view text) {
  for (const auto& [name, each] : kShardings) {
    if (name == text) return each;
  }
  return std::nullopt;
}

std::string WhyNotPlanned(const StepPlan& plan) {
  const ParallelDegrees& degrees = plan.degrees;
  if (plan.micro_batches < 1 || plan.micro_batches > kMostMicroBatches)
    return fmt::format("--micro-batches {}: expected 1 to {}", plan.micro_batches,
                       kMostMicroBatches);
  if (plan.micro_batch < 1 || plan.micro_batch > kMostSamples)
    return fmt::format("--micro-batch {}: expected 1 to {}", plan.micro_batch, kMostSamples);
  if (std::string why = WhyNotPipelined(plan); !why.empty()) return why;
  if (std::string why = WhyNotShared(plan); !why.empty()) return why;
  const bool splits_layers = degrees.tp * degrees.cp * degrees.ep * degrees.pp > 1;
  if (plan.sequence_parallel && degrees.tp == 1)
    return "--sequence-parallel: expected it with tensor-parallel ranks (--parallel tp=2)";
  if (splits_layers && !plan.model.transformer) {
    return fmt::format("{} is no transformer: expected data-parallel ranks only", plan.model.name);
  }
  if (degrees.ep > 1 && plan.model.transformer->experts == 0) {
    return fmt::format("{} has no experts: expected ep=1", plan.model.name);
  }
  const auto others = static_cast<double>(degrees.ep - 1);
  if (!(plan.expert_skew >= 0) || plan.expert_skew > others) {
    return fmt::format("--expert-skew {:g}: expected 0 to {}, the other expert-parallel ranks",
                       plan.expert_skew, others);
  }
  if (!plan.model.transformer) return "";
  return WhyNotSplit(degrees, *plan.model.transformer, plan.model.tokens_per_sample, plan.chunks);
}

}  // namespace hockney
