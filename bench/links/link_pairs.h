#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "topology/topology.h"

namespace hockney {

using RankPair = std::pair<int, int>;

// Pairs of one level that can run at once, no rank in two of them, and that share what the level is
// about: a host's memory, the link between two hosts, or between two racks. The first is the
// level's example. Empty if no two ranks have that level between them.
std::vector<RankPair> PairsOfLevel(const Topology& topology, Level level);

// Ranks of equal place on their hosts, hosts in twos: every rail busy at once. Empty on one host.
std::vector<RankPair> RailPairs(const Topology& topology);

// The first half of the ranks, host by host, with the second. Empty for one rank.
std::vector<RankPair> BisectionPairs(const Topology& topology);

}  // namespace hockney
