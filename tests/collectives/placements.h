#pragma once

#include <string>
#include <vector>

#include "collectives/levels.h"
#include "collectives/placement.h"

// Made-up machines for tests of `hierarchical`.
namespace hockney::testing {

enum class RankOrder { kBlock, kRoundRobin, kShuffled };

// Node k has ranks_of_node[k] ranks. Block order fills a node before the next, round robin deals
// ranks to the nodes that still have room.
RankPlacement PlaceRanks(const std::vector<int>& ranks_of_node, RankOrder order);

// The same with nodes dealt to racks in order, `nodes_of_rack` a rack.
RankPlacement WithRacks(RankPlacement placement, int nodes_of_rack);

// `nodes` times `ranks`.
std::vector<int> Even(int nodes, int ranks);

// For messages: "node_of_rank 0 0 1 1".
std::string Describe(const RankPlacement& placement);

// All levels that fit, with a rack level or without; names that mean the same as another are left
// out.
std::vector<Levels> AllLevels(Collective collective, Protocol protocol, bool with_rack);

// The collectives that have a row `hierarchical`.
std::vector<Collective> HierarchicalCollectives();

}  // namespace hockney::testing
