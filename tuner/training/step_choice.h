#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "collectives/flow.h"
#include "collectives/placement.h"
#include "tuner/training/step_graph.h"

namespace hockney {

// How hockney's own executors do a collective of a step, and what the model predicts of it.
struct StepChoice {
  const Algorithm* row = nullptr;
  Parameters parameters = {};  // of which `placement` is the argument's

  // "ring", "hierarchical(direct,ring)", with " x8" for more than one lane.
  std::string Name() const;
};

// Returns what suits the vector where nobody has measured: trees of doubling distance for
// all-reduces below 32 KiB, else rings, and levels where nodes have several ranks each. `placement`
// is of the group's ranks, null on one node, and outlives the choice.
StepChoice ChooseForStep(const Counts& counts, DataType type, const RankPlacement* placement);

// Where the members of a group are, as ranks of the group; of all world ranks it is known.
RankPlacement PlacementOfMembers(const RankPlacement& world, std::span<const std::int64_t> members);

// Whether all ranks are on one node.
bool IsOneNode(const RankPlacement& placement);

}  // namespace hockney
