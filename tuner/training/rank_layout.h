#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/training/model_description.h"

namespace hockney {

// How many ranks share out what. World ranks are numbered in Megatron's order "tp-cp-ep-dp-pp":
// tensor-parallel ranks are neighbours, pipeline stages are furthest apart. Experts are no further
// dimension of the world: their layers see the tp x cp x dp ranks of a stage as etp x ep x the
// rest, so that with cp 1 and etp = tp their groups are taken out of dp. Source: NVIDIA/Megatron-LM
// megatron/core/parallel_state.py.
struct ParallelDegrees {
  std::int64_t tp = 1;   // tensor
  std::int64_t cp = 1;   // context: the sequence
  std::int64_t dp = 1;   // data
  std::int64_t pp = 1;   // pipeline
  std::int64_t ep = 1;   // experts
  std::int64_t etp = 0;  // tensor within one expert; 0: as tp
};

// Whose ranks belong together: all that differ in this one only.
enum class ParallelDimension : std::uint8_t {
  kTensor,
  kContext,
  kData,
  kPipeline,
  kDataContext,  // data and context: over these the gradients of all but experts are reduced
  kExpert,       // over these tokens are exchanged
  kExpertTensor,
  kExpertData,  // over these the gradients of an expert are reduced
};

// World ranks first, first + stride, ...
struct StridedGroup {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t size = 1;
};

// The place of a rank in each dimension.
struct LayoutPlace {
  std::int64_t tp = 0;
  std::int64_t cp = 0;
  std::int64_t dp = 0;
  std::int64_t pp = 0;
  std::int64_t ep = 0;
};

// Returns the degrees of "tp=2,pp=2,dp=2" for `ranks` ranks, in any order; those not named are 1,
// but dp, which takes what is left. Throws std::invalid_argument `"<text>": ...` for unknown names,
// names that stand there twice, numbers below 1, and where the ranks do not come out, saying which
// number is no multiple of which.
ParallelDegrees ParseDegrees(std::string_view text, std::int64_t ranks);

// "tp=2,cp=1,dp=2,pp=2", with ",ep=...,etp=..." where there are expert-parallel ranks.
std::string Text(const ParallelDegrees& degrees);

std::int64_t RanksOfWorld(const ParallelDegrees& degrees);

// The ranks that together hold the model once: tp x cp x pp.
std::int64_t RanksOfReplica(const ParallelDegrees& degrees);

// Both throw std::invalid_argument for a rank that the world does not have.
LayoutPlace PlaceOf(const ParallelDegrees& degrees, std::int64_t rank);
StridedGroup GroupOf(const ParallelDegrees& degrees, ParallelDimension dimension,
                     std::int64_t rank);

// Returns the world ranks of a group, ascending.
std::vector<std::int64_t> Members(const StridedGroup& group);

// Returns in one line what of the model does not divide, or "": heads, hidden and feed-forward size
// by tp; key-value heads and tp, one by the other (each is then on several ranks); tokens by 2 cp
// (balanced chunks) and, for sequence parallelism, by cp x tp; layers by pp x chunks
// (WhyNotStaged); experts by ep. The vocabulary is padded, so it always fits.
std::string WhyNotSplit(const ParallelDegrees& degrees, const TransformerShape& shape,
                        std::int64_t tokens, std::int64_t chunks = 1);

}  // namespace hockney
