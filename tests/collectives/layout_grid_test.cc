#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "collectives/expectation.h"
#include "collectives/layout.h"

// Layouts that count blocks, or the parts of a piece, in a program's own grid.
namespace hockney {
namespace {

Cut CutBy(int lanes, int chunks, std::vector<std::int32_t> grid, int scratch_copies = 1) {
  return {
      .lanes = lanes, .chunks = chunks, .scratch_copies = scratch_copies, .grid = std::move(grid)};
}

// Blocks of 3 ranks, called 2, 0, (a hole), 1.
TEST(LayoutGridTest, BlocksLieWhereTheyDoWithoutAGrid) {
  const Counts counts{.collective = Collective::kAllGather, .ranks = 3, .counts = {100, 0, 700}};
  const std::vector<std::int32_t> grid = {2, 0, -1, 1};
  const Layout plain(counts, DataType::kFloat32, CutBy(2, 3, {}));
  const Layout layout(counts, DataType::kFloat32, CutBy(2, 3, grid));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(layout.ChunkCount(rank, Buffer::kOutput), 4 * 6);
    EXPECT_EQ(layout.ChunkCount(rank, Buffer::kInput), 6);
    for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput, Buffer::kScratch}) {
      EXPECT_EQ(layout.BufferBytes(rank, buffer), plain.BufferBytes(rank, buffer));
    }
    for (int c = 0; c < 6; ++c) {
      EXPECT_EQ(layout.Find(rank, Buffer::kInput, c).bytes,
                plain.Find(rank, Buffer::kInput, c).bytes);
      EXPECT_FALSE(layout.IsHole(rank, Buffer::kInput, c));
    }
    for (int c = 0; c < 4 * 6; ++c) {
      const int block = grid[c / 6];
      const ByteRange range = layout.Find(rank, Buffer::kOutput, c);
      EXPECT_EQ(layout.IsHole(rank, Buffer::kOutput, c), block < 0);
      EXPECT_EQ(layout.OwnerOf(c / 6), block);
      if (block < 0) {
        EXPECT_EQ(range.bytes, 0U);
        continue;
      }
      const ByteRange wanted = plain.Find(rank, Buffer::kOutput, block * 6 + c % 6);
      EXPECT_EQ(range.bytes, wanted.bytes);
      EXPECT_EQ(range.offset, wanted.offset);
      EXPECT_EQ(ExpectChunk(layout, rank, c).rank, block);
      EXPECT_EQ(ExpectChunk(layout, rank, c).chunk, c % 6);
    }
    EXPECT_EQ(layout.FindInPlace(rank).offset, plain.FindInPlace(rank).offset);
    EXPECT_EQ(layout.FindInPlace(rank).chunk_offset, layout.BlockOf(rank) * 6);
  }
  EXPECT_EQ(layout.BlockOf(0), 1);
  EXPECT_EQ(layout.BlockOf(1), 3);
  EXPECT_EQ(layout.BlockOf(2), 0);
}

// 2 pieces of 2 parts, each with a hole behind.
TEST(LayoutGridTest, HolesBetweenPartsAreEmptyAndTheRestTilesTheVector) {
  const Counts counts{.collective = Collective::kAllReduce, .ranks = 3, .counts = {1000}};
  const Layout plain(counts, DataType::kFloat32, CutBy(2, 4, {}));
  const Layout layout(counts, DataType::kFloat32, CutBy(2, 6, {0, 1, -1}));
  EXPECT_EQ(layout.LargestChunkBytes(), plain.LargestChunkBytes());
  for (int lane = 0; lane < 2; ++lane) {
    for (int c = 0; c < 6; ++c) {
      const ByteRange range = layout.Find(1, Buffer::kInput, lane * 6 + c);
      EXPECT_EQ(layout.IsHole(1, Buffer::kInput, lane * 6 + c), c % 3 == 2);
      if (c % 3 == 2) {
        EXPECT_EQ(range.bytes, 0U);
        continue;
      }
      const ByteRange wanted = plain.Find(1, Buffer::kInput, lane * 4 + c / 3 * 2 + c % 3);
      EXPECT_EQ(range.bytes, wanted.bytes);
      EXPECT_EQ(range.offset, wanted.offset);
    }
  }
}

TEST(LayoutGridTest, ScratchCopiesLieOneBehindTheOther) {
  const Counts counts{.collective = Collective::kAllToAll, .ranks = 2, .counts = {50}};
  const Layout layout(counts, DataType::kInt8, CutBy(1, 1, {1, 0}, 2));
  EXPECT_EQ(layout.BufferBytes(0, Buffer::kInput), 100U);
  EXPECT_EQ(layout.BufferBytes(0, Buffer::kScratch), 200U);
  EXPECT_EQ(layout.ChunkCount(0, Buffer::kScratch), 4);
  for (const auto& [chunk, offset] : {std::pair{0, 50U}, {1, 0U}, {2, 150U}, {3, 100U}}) {
    EXPECT_EQ(layout.Find(0, Buffer::kScratch, chunk).offset, offset) << chunk;
    EXPECT_EQ(layout.Find(0, Buffer::kScratch, chunk).bytes, 50U) << chunk;
  }
}

TEST(LayoutGridTest, GridsThatLeaveOutOrDoubleSomethingAreRefused) {
  const Counts blocks{.collective = Collective::kAllGather, .ranks = 2, .counts = {5, 5}};
  for (const std::vector<std::int32_t>& grid :
       std::vector<std::vector<std::int32_t>>{{0}, {0, 0}, {0, 2}, {0, -2}, {0, 1, 1}, {-1, -1}}) {
    EXPECT_THROW(Layout(blocks, DataType::kInt8, CutBy(1, 1, grid)), std::invalid_argument);
  }
  const Counts vector{.collective = Collective::kAllReduce, .ranks = 2, .counts = {5}};
  EXPECT_NO_THROW(Layout(vector, DataType::kInt8, CutBy(1, 6, {0, 1, -1})));
  EXPECT_THROW(Layout(vector, DataType::kInt8, CutBy(1, 4, {0, 1, -1})), std::invalid_argument);
  EXPECT_THROW(Layout(vector, DataType::kInt8, CutBy(1, 6, {0, 2, -1})), std::invalid_argument);
  EXPECT_THROW(Layout(vector, DataType::kInt8, CutBy(1, 2, {-1, -1})), std::invalid_argument);
  EXPECT_THROW(Layout(vector, DataType::kInt8, CutBy(1, 1, {}, 0)), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
