#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/layout.h"
#include "collectives/types.h"

namespace hockney {

// One step of training, as one rank does it: what is computed, what is sent, and what waits for
// what. The same graph is run by `hockney step`, timed on paper by SimulateStep and written as JSON
// and as a trace.

enum class StepKind : std::uint8_t { kCompute, kCollective };

enum class StepWork : std::uint8_t { kForward, kBackward, kOptimizer };

// Queues of work. Nodes of one stream run one after the other, in the order of the graph; those of
// others at the same time. Accelerators have such streams; where one thread does all communication,
// it takes the nodes of all streams but kCompute in the order of the graph.
enum class StepStream : std::uint8_t {
  kCompute,
  kGradients,   // reductions of gradients
  kParameters,  // all-gathers of parameters
  kLayer,       // within a layer: tensor, context and expert parallel
  kPipeline,    // between stages
  kReplicas,    // of shards, between their replicas
};
inline constexpr int kStepStreams = 6;

std::string_view Name(StepKind kind);
std::string_view Name(StepWork work);
std::string_view Name(StepStream stream);

// Ranks that communicate with each other. Every rank of the job is in one group of a family; it is
// alone in some.
struct StepGroup {
  std::string family;                 // "data", "tensor", "pipeline 0", ...
  std::vector<std::int64_t> members;  // world ranks, in the order of the group's ranks
};

struct StepNode {
  std::string name;
  StepKind kind = StepKind::kCompute;
  StepStream stream = StepStream::kCompute;
  std::vector<int> after = {};  // nodes before this one in the graph, by index

  // kCompute. Of forward and backward work the time follows from the flops, of the optimizer from
  // the bytes it moves in the accelerator's memory; AssignTimes fills `seconds`.
  StepWork work = StepWork::kForward;
  int unit = -1;     // of the model; -1: all of this rank
  double share = 1;  // of the unit's pass that this node is
  double flops = 0;
  double memory_bytes = 0;
  double seconds = 0;

  // kCollective
  int group = -1;  // of StepGraph::groups
  Counts counts = {};
  DataType type = DataType::kFloat32;
  int bucket = -1;                 // of gradients, by order of launch; -1: none
  bool is_gradient = false;        // reduces gradients, whose sums can be checked
  std::int64_t padding_bytes = 0;  // of the size, zeros that make it divide
};

struct StepGraph {
  std::int64_t rank = 0;
  std::vector<StepGroup> groups =
      {};  // a family each, the same families on all ranks in the same order
  std::vector<StepNode> nodes = {};
};

// Bytes of nccl-tests' size column of a collective node; 0 for computing.
std::int64_t SizeBytes(const StepNode& node);

// What of the graphs does not fit together, or "": nodes that wait for later ones, groups without
// the rank, and collectives that the members of a group do not call alike and in the same order.
// `graphs` are those of all ranks, or of those ranks that are looked at.
std::string WhyNotMatched(std::span<const StepGraph> graphs);

}  // namespace hockney
