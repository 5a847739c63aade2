#pragma once

#include <vector>

namespace hockney {

// One round of a rank's part in comparing clocks along a binomial tree: it learns from `peer`, or
// answers it.
struct ClockRound {
  int round = 0;
  int peer = 0;
  bool learns = false;
};

// Returns what node `node` of `nodes` (>= 1) does, round by round. All learn once, from a node that
// has learned before, but node 0; that takes log2 of the nodes, rounded down, and one more round
// for those beyond the power of two. Source: HCA3, "Hierarchical clock synchronization in MPI",
// CLUSTER 2018.
std::vector<ClockRound> ClockRounds(int node, int nodes);

// Returns the number of rounds, and from whom `node` (>= 1) learns.
int ClockRoundCount(int nodes);
int ClockParent(int node, int nodes);

}  // namespace hockney
