#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// What each rank of a pipeline does, in which order. A rank holds `chunks` parts of the model
// (virtual stages); chunk c of rank r is stage c x ranks + r of the whole model.

enum class PipelineKind : std::uint8_t {
  kForwardOnly,
  kGPipe,                  // all forward passes, then all backward passes
  kOneForwardOneBackward,  // "1F1B": a backward pass as soon as there is one
  kInterleaved,            // 1F1B over several chunks a rank, in Megatron's order
};

// The names that users read and write: forward_only, gpipe, 1f1b, interleaved; case does not
// matter when read.
std::string_view Name(PipelineKind kind);
std::optional<PipelineKind> ParsePipelineKind(std::string_view text);

struct PipelineShape {
  PipelineKind kind = PipelineKind::kOneForwardOneBackward;
  std::int64_t ranks = 1;
  std::int64_t micro_batches = 1;
  std::int64_t chunks = 1;  // a rank; more than 1 with kInterleaved only
  // kInterleaved: micro-batches of one chunk in a row (microbatch_group_size_per_vp_stage). 0: as
  // many as there are ranks.
  std::int64_t group = 0;
};

enum class Pass : std::uint8_t { kForward, kBackward };

struct PipelineOp {
  Pass pass = Pass::kForward;
  std::int64_t micro_batch = 0;
  std::int64_t chunk = 0;

  bool operator==(const PipelineOp&) const = default;
};

// The operations of each rank, in their order.
using PipelineSchedule = std::vector<std::vector<PipelineOp>>;

// Returns what is wrong with a shape, or "": less than one rank, micro-batch or chunk; several
// chunks without kInterleaved; several chunks on one rank, or with micro-batches that are no
// multiple of the ranks (of the group, up to a rest of at least as many as there are ranks).
std::string WhyNotScheduled(const PipelineShape& shape);

// Returns the forward passes of a rank before its first backward pass: ranks - rank - 1 for 1F1B,
// 2 (ranks - rank - 1) + (chunks - 1) x group for more chunks, never more than there are; all of
// them for the other kinds.
// Source: NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py.
std::int64_t WarmUpPasses(const PipelineShape& shape, std::int64_t rank);

// Returns the schedule. Interleaved with one chunk is 1F1B, as in Megatron. Throws
// std::invalid_argument for what WhyNotScheduled says.
// Sources: GPipe (NeurIPS 2019) with backward passes in the order of the forward passes; 1F1B and
// interleaved: Narayanan et al., SC'21, section 2.2.
PipelineSchedule SchedulePipeline(const PipelineShape& shape);

// Returns why layers cannot be shared out to stages (ranks x chunks), or "".
std::string WhyNotStaged(std::int64_t layers, std::int64_t stages);

// Returns the layers of each stage: all alike, or, where only layers + 2 divides, one less on the
// first and on the last, whose embedding and head count as a layer each (Megatron's
// account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split; Llama 3 405B: 126
// layers on 16 stages). Throws std::invalid_argument for what WhyNotStaged says.
std::vector<std::int64_t> LayersOfStages(std::int64_t layers, std::int64_t stages);

}  // namespace hockney
