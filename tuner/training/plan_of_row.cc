#include "tuner/training/plan_of_row.h"

#include <fmt/format.h>

#include <stdexcept>

#include "tuner/training/build_step.h"
#include "tuner/training/read_model_description.h"

namespace hockney {
namespace {

// Less makes of any model a step of years.
constexpr double kLeastEfficiency = 1e-9;

constexpr std::pair<std::string_view, BucketMode> kBucketModes[] = {
    {"rebuilt", BucketMode::kRebuilt},
    {"first_iteration", BucketMode::kFirstIteration},
    {"find_unused", BucketMode::kFindUnused}};

[[noreturn]] void Fail(std::string_view option, std::string_view text, std::string_view expected) {
  throw std::invalid_argument(fmt::format("{}: \"{}\": expected {}", option, text, expected));
}

BucketMode ModeOf(const std::string& text) {
  for (const auto& [name, mode] : kBucketModes) {
    if (name == text) return mode;
  }
  Fail("--buckets", text, "rebuilt, first_iteration or find_unused");
}

}  // namespace

StepPlan PlanOfRow(const StepRow& row) {
  StepPlan plan;
  plan.model = ReadModelDescription(
      row.model,
      {.tokens_per_sample = row.tokens_per_sample, .type = row.dtype, .scale = row.scale});
  plan.degrees = ParseDegrees(row.parallel, row.ranks);
  const auto sharding = ParseSharding(row.sharding);
  if (!sharding)
    Fail("--sharding", row.sharding, "ddp, zero1, zero2, zero3 (fsdp) or hybrid (hsdp)");
  plan.sharding = *sharding;
  plan.shard_ranks = row.shard_ranks;
  plan.prefetch = static_cast<int>(row.prefetch);
  const auto pipeline = ParsePipelineKind(row.pipeline);
  if (!pipeline || *pipeline == PipelineKind::kForwardOnly)
    Fail("--pipeline", row.pipeline, "gpipe, 1f1b or interleaved");
  plan.pipeline = *pipeline;
  plan.chunks = row.chunks;
  plan.micro_batches = row.micro_batches;
  plan.micro_batch = row.micro_batch;
  plan.no_sync = row.no_sync;
  plan.sequence_parallel = row.sequence_parallel;
  plan.expert_skew = row.expert_skew;
  plan.buckets.mode = ModeOf(row.buckets);
  plan.buckets.cap_bytes = row.bucket_cap_bytes;
  plan.gradient_type = row.gradient_dtype;
  if (const std::string why = WhyNotPlanned(plan); !why.empty()) throw std::invalid_argument(why);
  return plan;
}

ComputeCost CostOfRow(const StepRow& row, const ModelDescription& model) {
  ComputeCost cost;
  if (!row.device.empty()) {
    const Accelerator* accelerator = FindAccelerator(row.device);
    if (accelerator == nullptr) {
      std::string names;
      for (const Accelerator& each : AllAccelerators())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
      Fail("--device", row.device, "one of " + names);
    }
    if (!(row.efficiency >= kLeastEfficiency && row.efficiency <= 1)) {
      Fail("--efficiency", fmt::format("{:g}", row.efficiency),
           fmt::format("a share of the peak, {:g} to 1", kLeastEfficiency));
    }
    cost = CostOf(*accelerator, model.parameters.front().type, row.efficiency);
  }
  if (!row.layer_times.empty()) cost.units = ReadLayerTimes(row.layer_times, model);
  return cost;
}

std::vector<StepGraph> GraphsOfRow(const StepRow& row, const StepPlan& plan) {
  const ComputeCost cost = CostOfRow(row, plan.model);
  std::vector<StepGraph> graphs;
  for (const std::int64_t rank : KindsOfRanks(plan)) {
    graphs.push_back(BuildStep(plan, rank));
    AssignTimes(graphs.back(), plan.model, plan.micro_batch, cost);
  }
  return graphs;
}

void CountCollectives(const StepGraph& graph, StepRow& row) {
  row.collectives = row.gradient_buckets = row.communicated_bytes = row.padding_bytes = 0;
  for (const StepNode& node : graph.nodes) {
    if (node.kind != StepKind::kCollective) continue;
    ++row.collectives;
    if (node.is_gradient) ++row.gradient_buckets;
    row.communicated_bytes += SizeBytes(node);
    row.padding_bytes += node.padding_bytes;
  }
}

double FlopsOfStep(const StepPlan& plan) {
  double flops = 0;
  for (const ModelUnit& unit : plan.model.units) flops += 3 * unit.forward_flops;
  return flops * static_cast<double>(plan.micro_batches * plan.micro_batch * plan.degrees.dp);
}

double TokensOfStep(const StepPlan& plan) {
  return static_cast<double>(plan.model.tokens_per_sample * plan.micro_batches * plan.micro_batch *
                             plan.degrees.dp);
}

void RateStep(const StepPlan& plan, StepRow& row) {
  if (!row.step_ms_median) return;
  const double seconds = *row.step_ms_median / 1e3;
  row.tokens_per_s = TokensOfStep(plan) / seconds;
  const Accelerator* accelerator = FindAccelerator(row.device);
  if (accelerator == nullptr) return;
  const double peak = CostOf(*accelerator, plan.model.parameters.front().type, 1).flops_per_second;
  row.mfu = FlopsOfStep(plan) / seconds / (peak * static_cast<double>(row.ranks));
}

}  // namespace hockney
