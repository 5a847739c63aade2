// Reports of integers that were too narrow (B06, B07: numbers of the project's collection of public
// cases): offsets of whole layouts, which need no memory.
#include <gtest/gtest.h>

#include <cstdint>

#include "collectives/flow.h"
#include "collectives/layout.h"

namespace hockney {
namespace {

// B06: vectors about 2^31, 2^32 and 2^40 bytes are cut without a gap, to their very last byte.
TEST(PublicCaseTest, B06ChunksOfLongVectorsEndWhereTheVectorEnds) {
  constexpr std::uint64_t kSizes[] = {2147483647, 2147483648, 4294967295,
                                      4294967296, 4294967297, std::uint64_t{1} << 40};
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective == Collective::kBarrier) continue;
    const Shape shape{row.collective, 4, 0};
    for (const std::uint64_t size : kSizes) {
      // One block of the size for all, or four that make it up.
      const Counts counts = EvenCounts(shape, size / 4);
      const CallFlow flow = ChooseFlow(row, counts, DataType::kInt8, {}, {});
      const Layout layout(counts, DataType::kInt8, flow.cut);
      for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
        const int chunks = layout.ChunkCount(0, buffer);
        ASSERT_GT(chunks, 0);
        const ByteRange last = layout.Find(0, buffer, chunks - 1);
        EXPECT_EQ(last.offset + last.bytes, layout.BufferBytes(0, buffer))
            << Name(row.collective) << " " << row.name << " " << size;
      }
    }
  }
}

TEST(PublicCaseTest, B06AllGatherOfFourGibibytesHasItsSecondHalfBehindTheFirst) {
  const Counts counts = EvenCounts({Collective::kAllGather, 2, 0}, 536870912);
  const Layout layout(counts, DataType::kFloat32, {});
  EXPECT_EQ(layout.BufferBytes(1, Buffer::kOutput), 4294967296U);
  EXPECT_EQ(layout.Find(1, Buffer::kOutput, 1).offset, 2147483648U);
  EXPECT_EQ(layout.FindInPlace(1).offset, 2147483648U);
}

// B07: every count fits into 32 bits, but sums of them do not. Four ranks of 10^9 bytes for each.
TEST(PublicCaseTest, B07OffsetsOfAllToAllVAre64Bits) {
  for (const Collective collective : {Collective::kAllToAllV, Collective::kAllToAll}) {
    Counts counts = EvenCounts({collective, 4, 0}, 0);
    for (std::uint64_t& count : counts.counts) count = 1000000000;
    const Layout layout(counts, DataType::kInt8, {});
    for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput}) {
      for (int rank = 0; rank < 4; ++rank) {
        for (int block = 0; block < 4; ++block) {
          EXPECT_EQ(layout.Find(rank, buffer, block).offset, block * std::size_t{1000000000});
        }
        EXPECT_EQ(layout.BufferBytes(rank, buffer), 4000000000U);
      }
    }
  }
}

// Counts and their sums fit, their bytes do not: 2 ranks of 600000000 float32.
TEST(PublicCaseTest, B07BytesOfCountsThatFitAre64Bits) {
  for (const Collective collective :
       {Collective::kAllToAllV, Collective::kAllToAll, Collective::kAllGather}) {
    Counts counts = EvenCounts({collective, 2, 0}, 0);
    for (std::uint64_t& count : counts.counts) count = 600000000;
    const Layout layout(counts, DataType::kFloat32, {});
    EXPECT_EQ(layout.Find(0, Buffer::kOutput, 1).offset, 2400000000U);
    EXPECT_EQ(layout.BufferBytes(0, Buffer::kOutput), 4800000000U);
  }
}

}  // namespace
}  // namespace hockney
