#include "tuner/training/choose_bucket.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "tuner/statistics.h"
#include "tuner/training/model_clock.h"
#include "tuner/training/plan_of_row.h"

namespace hockney {
namespace {

auto StepKey(const StepRow& row) {
  return std::tuple(row.model, row.scale, row.tokens_per_sample, row.dtype, row.ranks, row.nodes,
                    row.parallel, row.sharding, row.shard_ranks, row.prefetch, row.pipeline,
                    row.chunks, row.micro_batches, row.micro_batch, row.no_sync,
                    row.sequence_parallel, row.expert_skew, row.buckets, row.gradient_dtype,
                    row.compute, row.device, row.efficiency, row.layer_times, row.implementation,
                    row.memory_kind);
}

StepShares SharesOn(const std::vector<StepGraph>& graphs, const SimMachine& machine) {
  SimulatedClock clock(machine);
  return SharesOfStep(graphs, clock);
}

// Each effect is what goes away when it is left out, one after the other. `finest` are the graphs
// of the same step with a bucket for every tensor.
ExposedCauses FindCauses(double exposed, const std::vector<StepGraph>& graphs,
                         const std::vector<StepGraph>& finest, const SimMachine& machine) {
  const SimMachine quick = WithoutLatency(machine);
  const double all = std::max(0.0, exposed);
  const double without_latency = std::clamp(SharesOn(graphs, quick).exposed, 0.0, all);
  const double at_once = std::clamp(SharesOn(finest, quick).exposed, 0.0, without_latency);
  return {
      .latency = all - without_latency, .late_start = without_latency - at_once, .link = at_once};
}

std::vector<StepGraph> GraphsWithCap(StepRow row, std::optional<std::int64_t> cap_bytes) {
  row.bucket_cap_bytes = cap_bytes;
  return GraphsOfRow(row, PlanOfRow(row));
}

std::optional<double> MeasuredSeconds(const StepRow& row, std::span<const StepRow> measured) {
  std::vector<double> seconds;
  for (const StepRow& each : measured) {
    const bool counts = each.status == Status::kOk && each.step_ms_median && SameStep(each, row) &&
                        each.bucket_cap_bytes == row.bucket_cap_bytes;
    if (counts) seconds.push_back(*each.step_ms_median / 1e3);
  }
  if (seconds.empty()) return std::nullopt;
  return Median(seconds);
}

}  // namespace

bool SameStep(const StepRow& a, const StepRow& b) { return StepKey(a) == StepKey(b); }

StepShares PredictStep(const StepRow& row, const SimMachine& machine) {
  return SharesOn(GraphsOfRow(row, PlanOfRow(row)), machine);
}

BucketChoice ChooseBucket(const StepRow& row, std::span<const std::optional<std::int64_t>> caps,
                          std::span<const StepRow> measured, const SimMachine& machine) {
  const std::vector<StepGraph> finest = GraphsWithCap(row, 0);
  BucketChoice choice;
  for (const auto& cap : caps) {
    const std::vector<StepGraph> graphs = GraphsWithCap(row, cap);
    StepRow with = row;
    with.bucket_cap_bytes = cap;
    CountCollectives(graphs.front(), with);
    PredictedBucket& bucket = choice.buckets.emplace_back();
    bucket.cap_bytes = cap;
    bucket.buckets = with.gradient_buckets;
    bucket.shares = SharesOn(graphs, machine);
    bucket.causes = FindCauses(bucket.shares.exposed, graphs, finest, machine);
    bucket.measured_seconds = MeasuredSeconds(with, measured);
  }
  const auto step_of = [&choice](std::size_t i) { return choice.buckets[i].shares.step; };
  for (std::size_t i = 1; i < choice.buckets.size(); ++i) {
    if (step_of(i) < step_of(choice.best)) choice.best = i;
  }
  for (std::size_t i = 0; i < choice.buckets.size(); ++i) {
    if (step_of(i) <= (1 + kBucketNoise) * step_of(choice.best)) choice.ties.push_back(i);
  }
  return choice;
}

}  // namespace hockney
