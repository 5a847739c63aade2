#include "collectives/algorithms/hierarchy.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

// The ranks of a job by (rack, node within, local index). Without a rack level every node is a
// rack.
struct Coordinates {
  const PlacedRanks& placed;
  bool has_racks = false;
  const std::vector<int>& node_at(int rack, int node) const {
    return placed.nodes[has_racks ? placed.racks[rack][node] : rack];
  }
  int rank_at(int rack, int node, int local) const { return node_at(rack, node)[local]; }
  int racks_count() const {
    return static_cast<int>(has_racks ? placed.racks.size() : placed.nodes.size());
  }
  int rack_size() const { return has_racks ? static_cast<int>(placed.racks[0].size()) : 1; }
};

void CheckRacks(const PlacedRanks& placed) {
  for (const auto& rack : placed.racks) {
    if (rack.size() == placed.racks[0].size()) continue;
    throw std::invalid_argument("hierarchical with a rack level: racks have " +
                                std::to_string(placed.racks[0].size()) + " and " +
                                std::to_string(rack.size()) + " nodes, expected as many in each");
  }
}

struct Position {
  int rack = 0;
  int node = 0;
  int local = 0;
};

Position FindPosition(const Coordinates& at, const RankPlacement& placement, int rank) {
  const int node = placement.node_of_rank[rank];
  const std::vector<int>& ranks = at.placed.nodes[node];
  const auto local = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
  Position position{.rack = node, .node = 0, .local = static_cast<int>(local)};
  if (!at.has_racks) return position;
  for (position.rack = 0; position.rack < at.racks_count(); ++position.rack) {
    const std::vector<int>& nodes = at.placed.racks[position.rack];
    const auto found = std::find(nodes.begin(), nodes.end(), node);
    if (found == nodes.end()) continue;
    position.node = static_cast<int>(found - nodes.begin());
    return position;
  }
  throw std::invalid_argument("program: node " + std::to_string(node) + " is in no rack");
}

std::vector<std::int32_t> MakeGrid(const Coordinates& at, const Hierarchy& h) {
  std::vector<std::int32_t> grid;
  grid.reserve(static_cast<std::size_t>(h.levels[0].width) * at.rack_size() * at.racks_count() *
               h.slots);
  for (int rail = 0; rail < h.levels[0].width; ++rail) {
    for (int node = 0; node < at.rack_size(); ++node) {
      for (int rack = 0; rack < at.racks_count(); ++rack) {
        const auto& ranks = at.node_at(rack, node);
        for (int slot = 0; slot < h.slots; ++slot) {
          const int local = rail + slot * h.rails;
          const bool there = rail < h.rails && local < static_cast<int>(ranks.size());
          grid.push_back(there ? ranks[local] : -1);
        }
      }
    }
  }
  return grid;
}

}  // namespace

Hierarchy FindHierarchy(int ranks, int rank, const Parameters& parameters) {
  const RankPlacement one_node = parameters.placement != nullptr ? RankPlacement{} : OneNode(ranks);
  const RankPlacement& placement =
      parameters.placement != nullptr ? *parameters.placement : one_node;
  if (static_cast<int>(placement.node_of_rank.size()) != ranks) {
    throw std::invalid_argument("placement: of " + std::to_string(placement.node_of_rank.size()) +
                                " ranks, expected " + std::to_string(ranks));
  }
  std::optional<PlacedRanks> looked_up;
  if (parameters.placed == nullptr) looked_up.emplace(placement);
  const Coordinates at{.placed = looked_up ? *looked_up : *parameters.placed,
                       .has_racks = !parameters.levels.rack.empty()};
  if (at.has_racks) CheckRacks(at.placed);
  const Position here = FindPosition(at, placement, rank);
  const auto [least, most] =
      std::minmax_element(at.placed.nodes.begin(), at.placed.nodes.end(),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
  Hierarchy h;
  h.rails = static_cast<int>(least->size());
  h.slots = static_cast<int>((most->size() + least->size() - 1) / least->size());
  h.local = here.local;
  const std::vector<int>& node = at.node_at(here.rack, here.node);
  h.levels.push_back({.algorithm = parameters.levels.intra,
                      .members = {node.begin(), node.end()},
                      .index = here.local,
                      .width = static_cast<int>(most->size())});
  for (std::size_t local = here.local % h.rails; local < node.size(); local += h.rails) {
    h.sharers.push_back(static_cast<std::int16_t>(node[local]));
  }
  const int rail = here.local % h.rails;
  if (!parameters.levels.rack.empty()) {
    Level level{.algorithm = parameters.levels.rack,
                .members = {},
                .index = here.node,
                .width = at.rack_size()};
    for (int n = 0; n < at.rack_size(); ++n) {
      level.members.push_back(static_cast<std::int16_t>(at.rank_at(here.rack, n, rail)));
    }
    h.levels.push_back(std::move(level));
  }
  Level top{.algorithm = parameters.levels.inter,
            .members = {},
            .index = here.rack,
            .width = at.racks_count()};
  for (int rack = 0; rack < at.racks_count(); ++rack) {
    top.members.push_back(static_cast<std::int16_t>(at.rank_at(rack, here.node, rail)));
  }
  h.levels.push_back(std::move(top));
  h.grid = MakeGrid(at, h);
  return h;
}

}  // namespace hockney
