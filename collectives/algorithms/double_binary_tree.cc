#include "collectives/algorithms/double_tree.h"
#include "collectives/algorithms/families.h"
#include "collectives/builder.h"

namespace hockney {
namespace {

// One tree: rank 0 on top with one child, below it the binary tree in which a rank's lowest set bit
// is its height.
TreeNode FindTree(int ranks, int rank) {
  TreeNode node;
  if (ranks == 1) return node;
  if (rank == 0) {
    node.children[0] = 1 << (CeilLog2(ranks) - 1);
    return node;
  }
  const int bit = rank & -rank;
  node.parent = (rank ^ bit) | (bit << 1);
  if (node.parent >= ranks) node.parent = rank ^ bit;
  if (bit > 1) {
    node.children[0] = rank - bit / 2;
    int offset = bit / 2;
    while (offset > 0 && rank + offset >= ranks) offset /= 2;
    if (offset > 0) node.children[1] = rank + offset;
  }
  return node;
}

// Renames every rank of a node that is there.
template <class Rename>
TreeNode Renamed(TreeNode node, Rename rename) {
  for (int* rank : {&node.parent, &node.children[0], &node.children[1]}) {
    if (*rank >= 0) *rank = rename(*rank);
  }
  return node;
}

// The trees over all ranks but the root, with the root above both tops. A tree of no other rank is
// the root alone.
std::array<TreeNode, 2> FindRootedTrees(int ranks, int rank, int root) {
  const auto to_rank = [&](int node) { return (root + 1 + node) % ranks; };
  std::array<TreeNode, 2> trees;
  if (ranks == 1) return trees;
  if (rank != root) {
    const std::array<TreeNode, 2> inner =
        FindDoubleTree(ranks - 1, (rank - root - 1 + ranks) % ranks);
    for (int t = 0; t < 2; ++t) {
      trees[t] = Renamed(inner[t], to_rank);
      if (inner[t].parent < 0) trees[t].parent = root;
    }
    return trees;
  }
  for (int node = 0; node < ranks - 1; ++node) {
    const std::array<TreeNode, 2> inner = FindDoubleTree(ranks - 1, node);
    for (int t = 0; t < 2; ++t) {
      if (inner[t].parent < 0) trees[t].children[0] = to_rank(node);
    }
  }
  return trees;
}

// Adds one step with all children as sources before `own`, in child order.
Step ReduceChildren(const Builder& b, const TreeNode& node, const Operand& own,
                    const Operand& destination) {
  const auto [left, right] = node.children;
  if (left >= 0 && right >= 0) {
    return Reduce({b.From(Rank(left)), b.From(Rank(right)), own}, {destination});
  }
  if (left >= 0) return Reduce({b.From(Rank(left)), own}, {destination});
  return Copy(own, {destination});
}

Step CopyToChildren(const Builder& b, const TreeNode& node, const Operand& source,
                    const Operand* output) {
  Step step = Copy(source, {});
  if (output != nullptr) step.destination[step.destination_count++] = *output;
  for (const int child : node.children) {
    if (child >= 0) step.destination[step.destination_count++] = b.To(Rank(child));
  }
  return step;
}

// The reduction up one tree ends at the top in `output`; `up` is the lane's step at this node.
Step ReduceUp(const Builder& b, const TreeNode& node, const ChunkRun& run) {
  if (node.parent >= 0) return ReduceChildren(b, node, Input(run), b.To(Rank(node.parent)));
  Step step = ReduceChildren(b, node, Input(run), Output(run));
  step.reduce = true;  // also for a single rank, whose own input is the whole reduction
  return Final(step);
}

}  // namespace

std::array<TreeNode, 2> FindDoubleTree(int ranks, int rank) {
  if (ranks % 2 == 0) {
    const auto mirror = [&](int r) { return ranks - 1 - r; };
    return {FindTree(ranks, rank), Renamed(FindTree(ranks, mirror(rank)), mirror)};
  }
  const auto shift = [&](int r) { return (r + 1) % ranks; };
  return {FindTree(ranks, rank), Renamed(FindTree(ranks, (rank - 1 + ranks) % ranks), shift)};
}

RankProgram TreeAllReduce(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters, 1, 2);
  const std::array<TreeNode, 2> trees = FindDoubleTree(b.ranks(), rank);
  // Up and down are lanes of their own, so that a piece goes down while the next comes up; the top
  // links them.
  for (int half = 0; half < 2 * b.lanes(); ++half) {
    const TreeNode& node = trees[half % 2];
    const ChunkRun run = b.Part(half);
    const bool top = node.parent < 0;
    const int up = 2 * half;
    const Operand output = Output(run);
    b.AddLane([&] {
      const Step step = ReduceUp(b, node, run);
      b.Add(top && b.ranks() > 1 ? Post(OtherLane(up + 1), step) : step);
    });
    b.AddLane([&] {
      if (b.ranks() == 1) return;
      if (top) {
        b.Add(Wait(OtherLane(up), CopyToChildren(b, node, output, nullptr)));
      } else {
        b.Add(CopyToChildren(b, node, b.From(Rank(node.parent)), &output));
      }
    });
  }
  return b.Take();
}

RankProgram TreeBroadcast(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters, 1, 2);
  const std::array<TreeNode, 2> trees = FindRootedTrees(b.ranks(), rank, b.root());
  for (int half = 0; half < 2 * b.lanes(); ++half) {
    const TreeNode& node = trees[half % 2];
    const Operand output = Output(b.Part(half));
    b.AddLane([&] {
      const Operand source = rank == b.root() ? Input(b.Part(half)) : b.From(Rank(node.parent));
      b.Add(CopyToChildren(b, node, source, &output));
    });
  }
  return b.Take();
}

RankProgram TreeReduce(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters, 1, 2);
  const std::array<TreeNode, 2> trees = FindRootedTrees(b.ranks(), rank, b.root());
  for (int half = 0; half < 2 * b.lanes(); ++half) {
    b.AddLane([&] { b.Add(ReduceUp(b, trees[half % 2], b.Part(half))); });
  }
  return b.Take();
}

}  // namespace hockney
