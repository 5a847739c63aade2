#include "collectives/algorithms/double_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace hockney {
namespace {

int CountChildren(const TreeNode& node) {
  return static_cast<int>(
      std::count_if(node.children.begin(), node.children.end(), [](int c) { return c >= 0; }));
}

// 1..300, and 2^k and its neighbours up to 2049.
std::vector<int> RankCounts() {
  std::vector<int> counts(300);
  std::iota(counts.begin(), counts.end(), 1);
  for (int power = 512; power <= 2048; power *= 2) {
    counts.insert(counts.end(), {power - 1, power, power + 1});
  }
  return counts;
}

// One of the two trees, by rank.
std::vector<TreeNode> TreeOf(int ranks, int tree) {
  std::vector<TreeNode> nodes;
  nodes.reserve(ranks);
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(FindDoubleTree(ranks, rank)[tree]);
  return nodes;
}

// Edges from `rank` up to the root, or -1 when there are more than ranks - 1: a cycle.
int DepthOf(const std::vector<TreeNode>& nodes, int rank) {
  int depth = 0;
  for (; nodes[rank].parent >= 0; rank = nodes[rank].parent) {
    if (++depth >= static_cast<int>(nodes.size())) return -1;
  }
  return depth;
}

TEST(DoubleTreeTest, ParentsAndChildrenAgree) {
  for (const int ranks : RankCounts()) {
    for (const int tree : {0, 1}) {
      const std::vector<TreeNode> nodes = TreeOf(ranks, tree);
      int edges = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_LT(nodes[rank].parent, ranks) << ranks << " ranks, rank " << rank;
        if (nodes[rank].parent >= 0) {
          const TreeNode& parent = nodes[nodes[rank].parent];
          ASSERT_EQ(std::count(parent.children.begin(), parent.children.end(), rank), 1)
              << ranks << " ranks, rank " << rank;
        }
        for (const int child : nodes[rank].children) {
          if (child < 0) continue;
          ++edges;
          ASSERT_LT(child, ranks) << ranks << " ranks, rank " << rank;
          ASSERT_EQ(nodes[child].parent, rank) << ranks << " ranks, child " << child;
        }
      }
      ASSERT_EQ(edges, ranks - 1) << ranks << " ranks, tree " << tree;
    }
  }
}

// With as many edges as above and no cycle, every rank hangs below the one root.
TEST(DoubleTreeTest, SpansAllRanksFromOneRootWithoutCycles) {
  for (const int ranks : RankCounts()) {
    for (const int tree : {0, 1}) {
      const std::vector<TreeNode> nodes = TreeOf(ranks, tree);
      ASSERT_EQ(std::count_if(nodes.begin(), nodes.end(),
                              [](const TreeNode& node) { return node.parent < 0; }),
                1)
          << ranks << " ranks, tree " << tree;
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_GE(DepthOf(nodes, rank), 0) << ranks << " ranks, tree " << tree << " rank " << rank;
      }
    }
  }
}

TEST(DoubleTreeTest, DepthIsTheLogarithmOfTheRanks) {
  for (const int ranks : RankCounts()) {
    int log = 0;  // ceil(log2 ranks)
    while ((1 << log) < ranks) ++log;
    for (const int tree : {0, 1}) {
      const std::vector<TreeNode> nodes = TreeOf(ranks, tree);
      int depth = 0;
      for (int rank = 0; rank < ranks; ++rank) depth = std::max(depth, DepthOf(nodes, rank));
      ASSERT_EQ(depth, log) << ranks << " ranks, tree " << tree;
    }
  }
}

TEST(DoubleTreeTest, AtMostTwoChildrenOverBothTrees) {
  for (const int ranks : RankCounts()) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto [first, second] = FindDoubleTree(ranks, rank);
      ASSERT_LE(CountChildren(first) + CountChildren(second), 2) << ranks << " ranks " << rank;
    }
  }
}

TEST(DoubleTreeTest, OnlyRankZeroOfAnOddCountIsInnerTwice) {
  for (const int ranks : RankCounts()) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto [first, second] = FindDoubleTree(ranks, rank);
      const bool twice = CountChildren(first) > 0 && CountChildren(second) > 0;
      const bool exception = rank == 0 && ranks % 2 == 1 && ranks >= 3;
      ASSERT_EQ(twice, exception) << ranks << " ranks, rank " << rank;
    }
  }
}

TEST(DoubleTreeTest, EightRanksAsInTheSource) {
  // Tree 0: 0 -> 4 -> {2, 6}, 2 -> {1, 3}, 6 -> {5, 7}; tree 1 is its mirror image.
  EXPECT_EQ(FindDoubleTree(8, 0)[0].children, (std::array{4, -1}));
  EXPECT_EQ(FindDoubleTree(8, 4)[0].children, (std::array{2, 6}));
  EXPECT_EQ(FindDoubleTree(8, 2)[0].children, (std::array{1, 3}));
  EXPECT_EQ(FindDoubleTree(8, 6)[0].children, (std::array{5, 7}));
  EXPECT_EQ(FindDoubleTree(8, 7)[1].children, (std::array{3, -1}));
  EXPECT_EQ(FindDoubleTree(8, 3)[1].children, (std::array{5, 1}));
}

}  // namespace
}  // namespace hockney
