#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/training/pipeline_schedule.h"

namespace hockney {

// The time of one operation, in any unit: one number for all stages, or one a stage of the whole
// model (ranks x chunks, in forward order). `transfer` passes between the end of a pass and the
// begin of that on the next rank; it keeps neither busy.
struct PipelineTimes {
  std::vector<double> forward = {1};
  std::vector<double> backward = {1};
  double transfer = 0;
};

struct TimedOp {
  PipelineOp op;
  double start = 0;
  double end = 0;
};

// A schedule with times. Activations are kept from the forward pass of a micro-batch through a
// chunk to the end of its backward pass.
struct PipelineWalk {
  std::vector<std::vector<TimedOp>> ranks;  // in the order of the schedule
  double total = 0;
  double busy = 0;                             // of all ranks together
  std::vector<std::int64_t> peak_activations;  // by rank, of one micro-batch and chunk each; 0 for
                                               // schedules without backward passes
};

// Returns when every operation starts and ends: as early as the order of its rank, and what it
// needs, allow. A forward pass needs that of the stage before; a backward pass needs that of the
// stage behind and its own forward pass.
// Throws std::invalid_argument for a schedule in which an operation is missing, doubled or never
// gets what it needs, naming it, and for times that are negative or not as many as stages.
PipelineWalk WalkPipeline(const PipelineSchedule& schedule, const PipelineTimes& times = {});

// Returns the idle share of the ranks' time: (p - 1) / (m + p - 1) for p equal ranks and m
// micro-batches. 0 where nothing takes time; so is BubbleOfIdeal.
double BubbleOfWall(const PipelineWalk& walk);

// Returns idle over busy time: (p - 1) / m, and (p - 1) / (v m) with v chunks.
double BubbleOfIdeal(const PipelineWalk& walk);

// Returns the letter of a micro-batch in tables: A ... Z, AA, AB ...
std::string MicroBatchName(std::int64_t micro_batch);

// Returns a line for each slot of time 1: what each rank does, "F(A) | idle", and last the
// micro-batches whose activations rank 0 keeps beyond the slot, "A,B" or "none". Where ranks have
// several chunks the number of the chunk follows the letter. Without backward passes only the
// letters: "A | idle". Throws std::invalid_argument if an operation starts or ends within a slot.
std::vector<std::string> SlotTable(const PipelineWalk& walk);

}  // namespace hockney
