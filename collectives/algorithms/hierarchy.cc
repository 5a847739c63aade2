#include "collectives/algorithms/hierarchy.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

using Lists = std::vector<std::vector<int>>;

// The ranks of a job by (rack, node within, local index). Without a rack level every node is a
// rack.
struct Coordinates {
  Lists nodes;  // ranks by node
  Lists racks;  // nodes by rack
  int rank_at(int rack, int node, int local) const { return nodes[racks[rack][node]][local]; }
  int racks_count() const { return static_cast<int>(racks.size()); }
  int rack_size() const { return static_cast<int>(racks[0].size()); }
};

Coordinates FindCoordinates(int ranks, const Parameters& parameters) {
  const RankPlacement one_node = OneNode(ranks);
  const RankPlacement& placement =
      parameters.placement != nullptr ? *parameters.placement : one_node;
  if (static_cast<int>(placement.node_of_rank.size()) != ranks) {
    throw std::invalid_argument("placement: of " + std::to_string(placement.node_of_rank.size()) +
                                " ranks, expected " + std::to_string(ranks));
  }
  Coordinates at{.nodes = RanksByNode(placement), .racks = {}};
  if (parameters.levels.rack.empty()) {
    for (int node = 0; node < static_cast<int>(at.nodes.size()); ++node) at.racks.push_back({node});
    return at;
  }
  at.racks = NodesByRack(placement);
  for (const auto& rack : at.racks) {
    if (rack.size() != at.racks[0].size()) {
      throw std::invalid_argument("hierarchical with a rack level: racks have " +
                                  std::to_string(at.racks[0].size()) + " and " +
                                  std::to_string(rack.size()) + " nodes, expected as many in each");
    }
  }
  return at;
}

struct Position {
  int rack = 0;
  int node = 0;
  int local = 0;
};

Position FindPosition(const Coordinates& at, int rank) {
  for (int rack = 0; rack < at.racks_count(); ++rack) {
    for (int node = 0; node < at.rack_size(); ++node) {
      const std::vector<int>& ranks = at.nodes[at.racks[rack][node]];
      const auto found = std::find(ranks.begin(), ranks.end(), rank);
      if (found != ranks.end()) return {rack, node, static_cast<int>(found - ranks.begin())};
    }
  }
  throw std::invalid_argument("program: rank " + std::to_string(rank) + " is on no node");
}

std::vector<std::int32_t> MakeGrid(const Coordinates& at, const Hierarchy& h) {
  std::vector<std::int32_t> grid;
  for (int rail = 0; rail < h.levels[0].width; ++rail) {
    for (int node = 0; node < at.rack_size(); ++node) {
      for (int rack = 0; rack < at.racks_count(); ++rack) {
        const auto& ranks = at.nodes[at.racks[rack][node]];
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
  const Coordinates at = FindCoordinates(ranks, parameters);
  const Position here = FindPosition(at, rank);
  const auto [least, most] =
      std::minmax_element(at.nodes.begin(), at.nodes.end(),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
  Hierarchy h;
  h.rails = static_cast<int>(least->size());
  h.slots = static_cast<int>((most->size() + least->size() - 1) / least->size());
  h.local = here.local;
  const std::vector<int>& node = at.nodes[at.racks[here.rack][here.node]];
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
