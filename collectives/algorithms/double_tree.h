#pragma once

#include <array>

namespace hockney {

// A rank's neighbours in one binary tree; -1 where there is none.
struct TreeNode {
  int parent = -1;
  std::array<int, 2> children = {-1, -1};
};

// Returns rank `rank`'s place in both trees of NCCL's double binary tree over `ranks` ranks (>= 1).
// Both have depth ceil(log2 ranks), a rank has at most two children over both, and is an inner node
// of at most one (rank 0 of an odd count of ranks excepted). Source: NCCL src/graph/trees.cc
// (ncclGetBtree, ncclGetDtree).
std::array<TreeNode, 2> FindDoubleTree(int ranks, int rank);

}  // namespace hockney
