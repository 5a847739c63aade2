#include "collectives/algorithms/wire_fractions.h"

#include <bit>

#include "collectives/algorithms/double_tree.h"

namespace hockney::wire {
namespace {

// The largest power of two that is at most the rank count, and the ranks beyond it.
int Cube(const Shape& shape) { return static_cast<int>(std::bit_floor(unsigned(shape.ranks))); }
int Extras(const Shape& shape) { return shape.ranks - Cube(shape); }
bool IsExtra(const Shape& shape, int rank) { return rank >= Cube(shape); }
bool HasExtra(const Shape& shape, int rank) { return rank < Extras(shape); }

int Rounds(const Shape& shape) { return std::bit_width(unsigned(Cube(shape))) - 1; }

int Children(const TreeNode& node) { return (node.children[0] >= 0) + (node.children[1] >= 0); }

// Blocks of the ranks [low, low + size) of the cube and of their extras.
int GroupBlocks(const Shape& shape, int low, int size) {
  int blocks = 0;
  for (int r = low; r < low + size; ++r) blocks += HasExtra(shape, r) ? 2 : 1;
  return blocks;
}

}  // namespace

double Nothing(const Shape&, int, const Parameters&) { return 0; }

double Everything(const Shape& shape, int, const Parameters&) { return shape.ranks > 1 ? 1 : 0; }

double OnePass(const Shape& shape, int, const Parameters&) {
  return (shape.ranks - 1.0) / shape.ranks;
}

double TwoPasses(const Shape& shape, int, const Parameters&) {
  return 2 * (shape.ranks - 1.0) / shape.ranks;
}

double OneShot(const Shape& shape, int, const Parameters&) { return shape.ranks - 1; }

double ToRoot(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? 0 : 1;
}

double FromRoot(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? shape.ranks - 1 : 0;
}

double OneBlockToRoot(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? 0 : 1.0 / shape.ranks;
}

double BlocksFromRoot(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? (shape.ranks - 1.0) / shape.ranks : 0;
}

double TreeAllReduce(const Shape& shape, int rank, const Parameters&) {
  double halves = 0;
  for (const TreeNode& node : FindDoubleTree(shape.ranks, rank)) {
    halves += Children(node) + (node.parent >= 0 ? 1 : 0);
  }
  return halves / 2;
}

double TreeBroadcast(const Shape& shape, int rank, const Parameters&) {
  if (shape.ranks == 1) return 0;
  if (rank == shape.root) return 1;
  double halves = 0;
  const int node = (rank - shape.root - 1 + shape.ranks) % shape.ranks;
  for (const TreeNode& place : FindDoubleTree(shape.ranks - 1, node)) halves += Children(place);
  return halves / 2;
}

double DoublingAllReduce(const Shape& shape, int rank, const Parameters&) {
  if (IsExtra(shape, rank)) return 1;
  return Rounds(shape) + (HasExtra(shape, rank) ? 1 : 0);
}

double DoublingAllGather(const Shape& shape, int rank, const Parameters&) {
  if (IsExtra(shape, rank)) return 1.0 / shape.ranks;
  double blocks = HasExtra(shape, rank) ? shape.ranks - 1 : 0;
  for (int size = 1; size < Cube(shape); size *= 2)
    blocks += GroupBlocks(shape, rank / size * size, size);
  return blocks / shape.ranks;
}

double HalvingAllReduce(const Shape& shape, int rank, const Parameters&) {
  if (IsExtra(shape, rank)) return 1;
  return 2 * (Cube(shape) - 1.0) / Cube(shape) + (HasExtra(shape, rank) ? 1 : 0);
}

double HalvingReduceScatter(const Shape& shape, int rank, const Parameters&) {
  if (IsExtra(shape, rank)) return 1;
  double blocks = HasExtra(shape, rank) ? 1 : 0;
  for (int size = 1; size < Cube(shape); size *= 2) {
    blocks += GroupBlocks(shape, (rank ^ size) / size * size, size);
  }
  return blocks / shape.ranks;
}

double BruckAllToAll(const Shape& shape, int, const Parameters&) {
  double blocks = 0;
  for (unsigned j = 0; j < unsigned(shape.ranks); ++j) blocks += std::popcount(j);
  return blocks / shape.ranks;
}

double RingBroadcast(const Shape& shape, int rank, const Parameters&) {
  return (rank + 1) % shape.ranks == shape.root ? 0 : 1;
}

double DirectBroadcast(const Shape& shape, int rank, const Parameters&) {
  return (shape.ranks - 1.0 + (rank == shape.root ? 0 : 1)) / shape.ranks;
}

double DirectReduce(const Shape& shape, int rank, const Parameters&) {
  return (shape.ranks - 1.0 + (rank == shape.root ? 0 : 1)) / shape.ranks;
}

double NaiveAllReduce(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? shape.ranks - 1 : 1;
}

double NaiveReduceScatter(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? (shape.ranks - 1.0) / shape.ranks : 1;
}

double NaiveAllGather(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? shape.ranks - 1 : 1.0 / shape.ranks;
}

double NaiveAllToAll(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? shape.ranks - 1 : 1;
}

double NaiveShift(const Shape& shape, int rank, const Parameters&) {
  return rank == shape.root ? shape.ranks - 1 : 1;
}

}  // namespace hockney::wire
