#pragma once

#include <vector>

namespace hockney {

// Where the ranks of a job are. Numbers of nodes and racks start at 0 and leave none out. Ranks may
// lie in any order over the nodes, and nodes may hold unlike numbers of them.
struct RankPlacement {
  std::vector<int> node_of_rank;
  std::vector<int> rack_of_node = {};  // empty: racks are unknown
  bool operator==(const RankPlacement&) const = default;
};

// The ranks of each node in rank order: a rank's place in its node's list is its local index.
// Throws std::invalid_argument for a node without ranks or a negative number.
std::vector<std::vector<int>> RanksByNode(const RankPlacement& placement);

// The nodes of each rack in order; one rack of all nodes where racks are unknown. Throws as above,
// and if not every node has a rack.
std::vector<std::vector<int>> NodesByRack(const RankPlacement& placement);

// Both of a placement, for who builds the programs of many ranks: looking them up takes a while.
struct PlacedRanks {
  explicit PlacedRanks(const RankPlacement& placement)
      : nodes(RanksByNode(placement)), racks(NodesByRack(placement)) {}
  std::vector<std::vector<int>> nodes;  // ranks
  std::vector<std::vector<int>> racks;  // nodes
};

// The placement with every node cut into nodes of as many ranks: the greatest common divisor of
// the nodes' numbers of ranks, neighbours in local index together. Throws as RanksByNode.
RankPlacement EqualNodes(const RankPlacement& placement);

// All ranks on one node.
RankPlacement OneNode(int ranks);

}  // namespace hockney
