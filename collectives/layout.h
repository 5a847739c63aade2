#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/program.h"

namespace hockney {

struct ByteRange {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// Elements each rank gives and takes. Blocks are the parts of a vector that belong to a rank.
//   all_reduce, broadcast, reduce, send_recv: counts = {n}, input and output hold n elements.
//   reduce_scatter, all_gather, gather, scatter: counts[r] = elements of rank r's block; the long
//   side holds all blocks. all_to_all: counts = {n}, n elements for each pair.  all_to_all_v:
//   counts[from*ranks + to]. barrier: counts = {}.
struct Counts {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int root = 0;
  std::vector<std::uint64_t> counts;
};

// Returns the counts of nccl-tests for `count` elements a rank, every block equal.
// all_to_all_v gets a fixed skew: pairs of count/2, count and 3*count/2 elements.
Counts EvenCounts(const Shape& shape, std::uint64_t count);

// The one function from chunks to bytes: (rank, buffer, chunk) -> (offset, bytes) within that
// rank's buffer. Each block is cut over lanes and each lane into chunks on 128-byte offsets, tail
// last, empty chunks allowed. Chunk index = (block*lanes + lane)*chunks + chunk, where blocks are
// counted as the cut's grid says. 64-bit throughout.
class Layout {
 public:
  Layout(Counts counts, DataType type, Cut cut);

  std::size_t BufferBytes(
      int rank, Buffer buffer) const;  // 0 where the collective has no such buffer at that rank
  int ChunkCount(int rank, Buffer buffer) const;
  ByteRange Find(int rank, Buffer buffer, int chunk) const;
  std::size_t LargestChunkBytes() const;
  // Whether the chunk is in a hole of the grid.
  bool IsHole(int rank, Buffer buffer, int chunk) const;
  // The rank whose block a program calls `block` (-1: a hole), and what it calls rank's block.
  int OwnerOf(int block) const { return cut_.grid.empty() ? block : cut_.grid[block]; }
  int BlockOf(int rank) const { return block_of_rank_.empty() ? rank : block_of_rank_[rank]; }

  // Byte offset of `rank`'s input within its output (or output within its input) at NCCL's in-place
  // positions; `input_inside_output` says which. Chunks of the shorter buffer then coincide with
  // whole chunks of the longer.
  struct InPlace {
    bool supported = false;
    bool input_inside_output = true;
    std::size_t offset = 0;
    int chunk_offset = 0;
  };
  InPlace FindInPlace(int rank) const;

  const Counts& counts() const { return counts_; }
  DataType type() const { return type_; }
  const Cut& cut() const { return cut_; }

 private:
  void ReadGrid();
  bool HasOwnOnly(int rank, Buffer buffer) const;
  int LongBlocks() const;
  int Blocks(int rank, Buffer buffer) const;
  std::span<const std::size_t> Prefix(int rank, Buffer buffer) const;
  ByteRange BlockRange(int rank, Buffer buffer, int block) const;

  Counts counts_;
  DataType type_;
  Cut cut_;
  std::size_t element_bytes_ = 1;
  std::size_t largest_block_ = 0;
  int parts_ = 1;                   // of a piece in the grid of a collective of one block
  int filled_parts_ = 1;            // those that are no holes
  std::vector<int> block_of_rank_;  // empty: no grid
  // Byte offsets of the blocks and the end; all_to_all_v has one such row a rank, the others share
  // one.
  std::vector<std::size_t> input_prefix_;
  std::vector<std::size_t> output_prefix_;
};

}  // namespace hockney
