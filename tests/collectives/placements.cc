#include "tests/collectives/placements.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace hockney::testing {

RankPlacement PlaceRanks(const std::vector<int>& ranks_of_node, RankOrder order) {
  RankPlacement placement;
  const int nodes = static_cast<int>(ranks_of_node.size());
  std::vector<int> room = ranks_of_node;
  if (order == RankOrder::kRoundRobin) {
    const int total = std::accumulate(room.begin(), room.end(), 0);
    for (int node = 0; static_cast<int>(placement.node_of_rank.size()) < total;
         node = (node + 1) % nodes) {
      if (room[node]-- > 0) placement.node_of_rank.push_back(node);
    }
    return placement;
  }
  for (int node = 0; node < nodes; ++node) {
    placement.node_of_rank.insert(placement.node_of_rank.end(), room[node], node);
  }
  if (order == RankOrder::kShuffled) {
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same every time
    std::shuffle(placement.node_of_rank.begin(), placement.node_of_rank.end(), random);
  }
  return placement;
}

RankPlacement WithRacks(RankPlacement placement, int nodes_of_rack) {
  const int nodes =
      1 + *std::max_element(placement.node_of_rank.begin(), placement.node_of_rank.end());
  placement.rack_of_node.clear();
  for (int node = 0; node < nodes; ++node) {
    placement.rack_of_node.push_back(node / nodes_of_rack);
  }
  return placement;
}

std::vector<int> Even(int nodes, int ranks) { return std::vector<int>(nodes, ranks); }

std::string Describe(const RankPlacement& placement) {
  std::string text = "node_of_rank";
  for (const int node : placement.node_of_rank) text += " " + std::to_string(node);
  if (placement.rack_of_node.empty()) return text;
  text += " rack_of_node";
  for (const int rack : placement.rack_of_node) text += " " + std::to_string(rack);
  return text;
}

std::vector<Levels> AllLevels(Collective collective, Protocol protocol, bool with_rack) {
  std::set<std::string_view> names;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.name != "one_shot" && row.name != "two_shot") names.insert(row.name);
  }
  std::vector<Levels> all;
  const std::set<std::string_view> no_rack = {""};
  for (const std::string_view intra : names) {
    if (HasRoot(collective) && intra == "halving_doubling" &&
        collective == Collective::kBroadcast) {
      continue;  // recursive_doubling there
    }
    for (const std::string_view rack : with_rack ? names : no_rack) {
      for (const std::string_view inter : names) {
        const Levels levels{intra, rack, inter};
        if (WhyUnfit(collective, levels, protocol).empty()) all.push_back(levels);
      }
    }
  }
  return all;
}

std::vector<Collective> HierarchicalCollectives() {
  std::vector<Collective> collectives;
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.name == kHierarchical) collectives.push_back(row.collective);
  }
  return collectives;
}

}  // namespace hockney::testing
