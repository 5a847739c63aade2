#include "collectives/placement.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

// The indices that hold each number.
std::vector<std::vector<int>> Invert(const std::vector<int>& numbers, const char* what) {
  std::vector<std::vector<int>> holders;
  for (int i = 0; i < static_cast<int>(numbers.size()); ++i) {
    if (numbers[i] < 0 || numbers[i] >= static_cast<int>(numbers.size())) {
      throw std::invalid_argument("placement: " + std::string(what) + " " +
                                  std::to_string(numbers[i]) + ", expected numbers from 0 on");
    }
    holders.resize(std::max<std::size_t>(holders.size(), numbers[i] + 1));
    holders[numbers[i]].push_back(i);
  }
  for (std::size_t i = 0; i < holders.size(); ++i) {
    if (holders[i].empty()) {
      throw std::invalid_argument("placement: nothing on " + std::string(what) + " " +
                                  std::to_string(i) + ", expected numbers that leave none out");
    }
  }
  return holders;
}

}  // namespace

std::vector<std::vector<int>> RanksByNode(const RankPlacement& placement) {
  return Invert(placement.node_of_rank, "node");
}

std::vector<std::vector<int>> NodesByRack(const RankPlacement& placement) {
  const std::size_t nodes = RanksByNode(placement).size();
  if (placement.rack_of_node.empty()) return Invert(std::vector<int>(nodes, 0), "rack");
  if (placement.rack_of_node.size() != nodes) {
    throw std::invalid_argument("placement: racks of " +
                                std::to_string(placement.rack_of_node.size()) +
                                " nodes, expected " + std::to_string(nodes));
  }
  return Invert(placement.rack_of_node, "rack");
}

RankPlacement EqualNodes(const RankPlacement& placement) {
  const auto nodes = RanksByNode(placement);
  std::size_t width = 0;
  for (const auto& ranks : nodes) width = std::gcd(width, ranks.size());
  if (width == 0) return placement;  // of no ranks
  RankPlacement equal = placement;
  equal.rack_of_node.clear();
  int parts = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t local = 0; local < nodes[node].size(); ++local) {
      if (local % width == 0) {
        ++parts;
        if (!placement.rack_of_node.empty()) {
          equal.rack_of_node.push_back(placement.rack_of_node.at(node));
        }
      }
      equal.node_of_rank[nodes[node][local]] = parts - 1;
    }
  }
  return equal;
}

RankPlacement OneNode(int ranks) {
  return {.node_of_rank = std::vector<int>(ranks, 0), .rack_of_node = {}};
}

}  // namespace hockney
