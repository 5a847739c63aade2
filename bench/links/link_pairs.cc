#include "bench/links/link_pairs.h"

#include <algorithm>

namespace hockney {
namespace {

std::optional<RankPair> FirstPair(const Topology& topology, Level level) {
  for (int a = 0; a < topology.ranks(); ++a) {
    for (int b = a + 1; b < topology.ranks(); ++b) {
      if (topology.LevelBetween(a, b) == level) return RankPair{a, b};
    }
  }
  return std::nullopt;
}

// All ranks that reach others by the same link as `rank` does at a level between hosts: those of
// its rack where the level is between racks, else those of its host.
std::vector<int> Neighbours(const Topology& topology, int rank, Level level) {
  const int node = topology.node_of_rank(rank);
  const auto rack = topology.rack_of_node(node);
  if (level <= Level::kRack || !rack) return topology.ranks_of_node(node);
  std::vector<int> ranks;
  for (const int each : topology.nodes_of_rack(*rack)) {
    const std::vector<int>& there = topology.ranks_of_node(each);
    ranks.insert(ranks.end(), there.begin(), there.end());
  }
  return ranks;
}

// Inside a host: any ranks with that level between them, each once.
std::vector<RankPair> PairsInside(const Topology& topology, int node, Level level) {
  const std::vector<int>& ranks = topology.ranks_of_node(node);
  std::vector<bool> used(topology.ranks());
  std::vector<RankPair> pairs;
  for (const int a : ranks) {
    for (const int b : ranks) {
      if (b <= a || used[a] || used[b] || topology.LevelBetween(a, b) != level) continue;
      used[a] = used[b] = true;
      pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

std::vector<RankPair> Zip(const std::vector<int>& left, const std::vector<int>& right) {
  std::vector<RankPair> pairs;
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    pairs.emplace_back(left[i], right[i]);
  }
  return pairs;
}

}  // namespace

std::vector<RankPair> PairsOfLevel(const Topology& topology, Level level) {
  const auto first = FirstPair(topology, level);
  if (!first) return {};
  if (level <= Level::kNode) {
    return PairsInside(topology, topology.node_of_rank(first->first), level);
  }
  return Zip(Neighbours(topology, first->first, level), Neighbours(topology, first->second, level));
}

std::vector<RankPair> RailPairs(const Topology& topology) {
  std::vector<RankPair> pairs;
  for (int node = 0; node + 1 < topology.nodes(); node += 2) {
    const auto more = Zip(topology.ranks_of_node(node), topology.ranks_of_node(node + 1));
    pairs.insert(pairs.end(), more.begin(), more.end());
  }
  return pairs;
}

std::vector<RankPair> BisectionPairs(const Topology& topology) {
  std::vector<int> ranks;
  for (int node = 0; node < topology.nodes(); ++node) {
    const std::vector<int>& there = topology.ranks_of_node(node);
    ranks.insert(ranks.end(), there.begin(), there.end());
  }
  const auto half = static_cast<std::ptrdiff_t>(ranks.size() / 2);
  return Zip({ranks.begin(), ranks.begin() + half}, {ranks.begin() + half, ranks.end()});
}

}  // namespace hockney
