#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tuner/records/step_row.h"
#include "tuner/simulate/machine.h"
#include "tuner/training/simulate_step.h"

namespace hockney {

// Why communication of a step is not hidden, in seconds that add up to what is exposed.
struct ExposedCauses {
  double latency = 0;  // collectives that cost time whatever their size: buckets too small
  double late_start =
      0;  // reductions that could have begun before their bucket was full: buckets too large
  double link = 0;  // bytes that the links cannot move meanwhile, whatever the buckets
};

// Predicts how the step of a row divides, by the plan it states, on a machine with all its ranks
// (MachineOfModel) whose communication is one thread's. Throws as PlanOfRow and CostOfRow.
StepShares PredictStep(const StepRow& row, const SimMachine& machine);

struct PredictedBucket {
  std::optional<std::int64_t> cap_bytes = {};  // nothing: the framework's default
  std::int64_t buckets = 0;
  StepShares shares = {};
  ExposedCauses causes = {};
  std::optional<double> measured_seconds = {};
};

struct BucketChoice {
  std::vector<PredictedBucket> buckets = {};  // as `caps` has them
  std::size_t best = 0;
  std::vector<std::size_t> ties =
      {};  // as good as the best within kBucketNoise, the best among them
};

// Steps that differ by less are as good: less than what a step's time varies by.
inline constexpr double kBucketNoise = 0.01;

// Predicts the step with every cap and picks the fastest. Of `measured` rows those of the same plan
// give the measured times.
BucketChoice ChooseBucket(const StepRow& row, std::span<const std::optional<std::int64_t>> caps,
                          std::span<const StepRow> measured, const SimMachine& machine);

// Whether rows state the same step but for the cap of its buckets.
bool SameStep(const StepRow& a, const StepRow& b);

}  // namespace hockney
