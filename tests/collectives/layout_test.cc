#include "collectives/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace hockney {
namespace {

constexpr int kRankCounts[] = {1, 2, 3, 5, 8, 17};
constexpr DataType kTypes[] = {DataType::kInt8, DataType::kFloat16, DataType::kFloat32,
                               DataType::kInt64};  // 1, 2, 4 and 8 bytes
constexpr Buffer kBuffers[] = {Buffer::kInput, Buffer::kOutput, Buffer::kScratch};
constexpr Collective kOwnBlock[] = {Collective::kReduceScatter, Collective::kAllGather,
                                    Collective::kGather, Collective::kScatter};

// The first ranks, one in the middle and the last: they cover every role.
std::vector<int> SomeRanks(int ranks) {
  std::vector<int> some = {0, std::min(1, ranks - 1), ranks / 2, ranks - 1};
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

template <class Visit>
void ForEachCut(Visit visit) {
  for (int lanes = 1; lanes <= 3; ++lanes) {
    for (int chunks = 1; chunks <= 7; ++chunks) visit(Cut{.lanes = lanes, .chunks = chunks});
  }
}

// What is wrong with the chunks of block `block`, which begins at `begin`; empty if nothing. Moves
// `begin` to the block's end.
std::string FindBadCut(const Layout& layout, int rank, Buffer buffer, int block,
                       std::size_t& begin) {
  const int chunks = layout.cut().chunks;
  const int cuts = layout.cut().lanes * chunks;
  const std::size_t start = begin;
  std::vector<std::size_t> lane_bytes(layout.cut().lanes, 0);
  std::size_t before = 0;
  bool after_tail = false;
  for (int c = 0; c < cuts; ++c) {
    const ByteRange range = layout.Find(rank, buffer, block * cuts + c);
    const std::string where = " at chunk " + std::to_string(block * cuts + c);
    if (range.offset != begin) return "gap or overlap" + where;
    if (range.bytes > layout.LargestChunkBytes()) return "more than the largest chunk" + where;
    if (c % chunks == 0) after_tail = false;
    if (c % chunks > 0 && after_tail && range.bytes > 0) return "the tail is not last" + where;
    if (c % chunks > 0 && range.bytes > before) return "a chunk longer than the first" + where;
    if (c % chunks > 0 && range.bytes < before) after_tail = true;
    if (range.bytes > 0 && (range.offset - start) % 128 != 0) return "not on 128 bytes" + where;
    before = range.bytes;
    begin += range.bytes;
    lane_bytes[c / chunks] += range.bytes;
  }
  if (!std::is_sorted(lane_bytes.rbegin(), lane_bytes.rend())) return "the tail lane is not last";
  return "";
}

// The same for the whole buffer.
std::string FindBadTiling(const Layout& layout, int rank, Buffer buffer) {
  const int cuts = layout.cut().lanes * layout.cut().chunks;
  std::size_t begin = 0;
  for (int block = 0; block < layout.ChunkCount(rank, buffer) / cuts; ++block) {
    std::string bad = FindBadCut(layout, rank, buffer, block, begin);
    if (!bad.empty()) return bad;
  }
  return begin == layout.BufferBytes(rank, buffer) ? "" : "the chunks end before the buffer";
}

std::string FindBadTiling(const Layout& layout) {
  for (const int rank : SomeRanks(layout.counts().ranks)) {
    for (const Buffer buffer : kBuffers) {
      const std::string bad = FindBadTiling(layout, rank, buffer);
      if (!bad.empty()) return bad + " of rank " + std::to_string(rank);
    }
  }
  return "";
}

class EveryCollectiveTest : public testing::TestWithParam<Collective> {};
INSTANTIATE_TEST_SUITE_P(Layout, EveryCollectiveTest, testing::ValuesIn(kAllCollectives),
                         [](const auto& of) { return std::string(Name(of.param)); });

TEST_P(EveryCollectiveTest, ChunksTileEveryBuffer) {
  for (const int ranks : kRankCounts) {
    const Shape shape{.collective = GetParam(), .ranks = ranks, .root = ranks - 1};
    const std::uint64_t p = ranks;
    for (const std::uint64_t count :
         {std::uint64_t{0}, std::uint64_t{1}, p - 1, p + 1, std::uint64_t{73}, std::uint64_t{509},
          std::uint64_t{4099}, std::uint64_t{10556587}}) {
      for (const DataType type : kTypes) {
        ForEachCut([&](const Cut& cut) {
          const Layout layout(EvenCounts(shape, count), type, cut);
          ASSERT_EQ(FindBadTiling(layout), "")
              << ranks << " ranks, count " << count << " " << Name(type) << ", " << cut.lanes
              << " lanes of " << cut.chunks;
        });
      }
    }
  }
}

TEST_P(EveryCollectiveTest, BuffersHaveTheBytesOfTheDefinition) {
  constexpr std::uint64_t kCount = 73;
  for (const int ranks : kRankCounts) {
    const int root = ranks / 2;
    const Shape shape{.collective = GetParam(), .ranks = ranks, .root = root};
    const Counts counts = EvenCounts(shape, kCount);
    const Layout layout(counts, DataType::kFloat32, {.lanes = 2, .chunks = 3});
    for (int rank = 0; rank < ranks; ++rank) {
      std::uint64_t input = kCount;
      std::uint64_t output = kCount;
      const bool at_root = rank == root;
      const Collective c = GetParam();
      if (c == Collective::kBarrier) input = output = 0;
      if (c == Collective::kReduceScatter || c == Collective::kAllToAll) input *= ranks;
      if (c == Collective::kAllGather || c == Collective::kAllToAll) output *= ranks;
      if (c == Collective::kBroadcast && !at_root) input = 0;
      if (c == Collective::kReduce && !at_root) output = 0;
      if (c == Collective::kGather) output = at_root ? kCount * ranks : 0;
      if (c == Collective::kScatter) input = at_root ? kCount * ranks : 0;
      if (c == Collective::kAllToAllV) {
        input = output = 0;
        for (int other = 0; other < ranks; ++other) {
          input += counts.counts[rank * ranks + other];
          output += counts.counts[other * ranks + rank];
        }
      }
      EXPECT_EQ(layout.BufferBytes(rank, Buffer::kInput), input * 4) << ranks << " rank " << rank;
      EXPECT_EQ(layout.BufferBytes(rank, Buffer::kOutput), output * 4) << ranks << " rank " << rank;
    }
  }
}

TEST_P(EveryCollectiveTest, InPlaceChunksCoincide) {
  for (const int ranks : kRankCounts) {
    for (const std::uint64_t count : {0, 1, 73, 4099}) {
      const Shape shape{.collective = GetParam(), .ranks = ranks, .root = ranks - 1};
      ForEachCut([&](const Cut& cut) {
        const Layout layout(EvenCounts(shape, count), DataType::kFloat32, cut);
        for (int rank = 0; rank < ranks; ++rank) {
          const Layout::InPlace place = layout.FindInPlace(rank);
          if (!place.supported) continue;
          const Buffer inner = place.input_inside_output ? Buffer::kInput : Buffer::kOutput;
          const Buffer outer = place.input_inside_output ? Buffer::kOutput : Buffer::kInput;
          if (layout.ChunkCount(rank, outer) == 0) continue;
          for (int chunk = 0; chunk < layout.ChunkCount(rank, inner); ++chunk) {
            const ByteRange short_side = layout.Find(rank, inner, chunk);
            const ByteRange long_side = layout.Find(rank, outer, chunk + place.chunk_offset);
            ASSERT_EQ(place.offset + short_side.offset, long_side.offset);
            ASSERT_EQ(short_side.bytes, long_side.bytes);
          }
        }
      });
    }
  }
}

TEST_P(EveryCollectiveTest, WrongNumberOfCountsIsRejected) {
  for (const int ranks : kRankCounts) {
    Counts counts = EvenCounts({.collective = GetParam(), .ranks = ranks, .root = 0}, 5);
    counts.counts.push_back(5);
    EXPECT_THROW(Layout(counts, DataType::kInt8, {}), std::invalid_argument);
    counts.counts.pop_back();
    EXPECT_NO_THROW(Layout(counts, DataType::kInt8, {}));
    if (counts.counts.empty()) continue;
    counts.counts.pop_back();
    EXPECT_THROW(Layout(counts, DataType::kInt8, {}), std::invalid_argument);
  }
}

TEST(LayoutTest, SkewedBlocksTileAndKeepTheirOffsets) {
  const std::vector<std::uint64_t> skewed = {0, 1, 1000003, 0, 73, 128, 0};
  for (const Collective collective : kOwnBlock) {
    for (const DataType type : kTypes) {
      ForEachCut([&](const Cut& cut) {
        const Layout layout({.collective = collective, .ranks = 7, .root = 2, .counts = skewed},
                            type, cut);
        ASSERT_EQ(FindBadTiling(layout), "") << Name(collective);
        const bool input_is_long =
            collective == Collective::kReduceScatter || collective == Collective::kScatter;
        const Buffer long_side = input_is_long ? Buffer::kInput : Buffer::kOutput;
        const Buffer short_side = input_is_long ? Buffer::kOutput : Buffer::kInput;
        std::size_t offset = 0;
        for (int block = 0; block < 7; ++block) {
          const int first = block * cut.lanes * cut.chunks;
          const std::size_t bytes = skewed[block] * ElementBytes(type);
          ASSERT_EQ(layout.Find(2, long_side, first).offset, offset) << Name(collective);
          ASSERT_EQ(layout.BufferBytes(block, short_side), bytes) << Name(collective);
          offset += bytes;
        }
      });
    }
  }
}

TEST(LayoutTest, SkewedPairsTileAndBothEndsAgree) {
  constexpr int kRanks = 5;
  Counts counts{.collective = Collective::kAllToAllV, .ranks = kRanks, .root = 0, .counts = {}};
  for (int pair = 0; pair < kRanks * kRanks; ++pair) {
    counts.counts.push_back(pair % 4 == 0 ? 0 : pair * pair * 11);
  }
  ForEachCut([&](const Cut& cut) {
    const Layout layout(counts, DataType::kFloat16, cut);
    ASSERT_EQ(FindBadTiling(layout), "");
    const int cuts = cut.lanes * cut.chunks;
    for (int from = 0; from < kRanks; ++from) {
      for (int to = 0; to < kRanks; ++to) {
        std::size_t bytes = 0;
        for (int c = 0; c < cuts; ++c) {
          const ByteRange sent = layout.Find(from, Buffer::kInput, to * cuts + c);
          ASSERT_EQ(sent.bytes, layout.Find(to, Buffer::kOutput, from * cuts + c).bytes);
          bytes += sent.bytes;
        }
        ASSERT_EQ(bytes, counts.counts[from * kRanks + to] * 2);
      }
    }
  });
}

TEST(LayoutTest, BytesBeyondThirtyTwoBitsAreExact) {
  for (const Collective collective : kOwnBlock) {
    const bool input_is_long =
        collective == Collective::kReduceScatter || collective == Collective::kScatter;
    const Buffer long_side = input_is_long ? Buffer::kInput : Buffer::kOutput;
    const Layout bytes({.collective = collective,
                        .ranks = 4,
                        .root = 0,
                        .counts = std::vector<std::uint64_t>(4, 1000000000)},
                       DataType::kInt8, {});
    for (int block = 0; block < 4; ++block) {
      EXPECT_EQ(bytes.Find(0, long_side, block).offset, block * std::size_t{1000000000});
    }
    const Layout floats({.collective = collective,
                         .ranks = 2,
                         .root = 0,
                         .counts = std::vector<std::uint64_t>(2, 600000000)},
                        DataType::kFloat32, {});
    EXPECT_EQ(floats.Find(0, long_side, 1).offset, 2400000000U);
    EXPECT_EQ(floats.BufferBytes(0, long_side), 4800000000U);
  }
}

TEST(LayoutTest, TwoToTheFortyElementsAreExact) {
  constexpr std::uint64_t kCount = std::uint64_t{1} << 40;
  for (const Collective collective : kAllCollectives) {
    if (collective == Collective::kBarrier) continue;
    const Shape shape{.collective = collective, .ranks = 8, .root = 0};
    for (const std::uint64_t count : {kCount, kCount + 1}) {
      ForEachCut([&](const Cut& cut) {
        const Layout layout(EvenCounts(shape, count), DataType::kFloat64, cut);
        ASSERT_EQ(FindBadTiling(layout), "") << Name(collective) << " " << count;
      });
    }
  }
  const Layout gather(
      EvenCounts({.collective = Collective::kAllGather, .ranks = 8, .root = 0}, kCount),
      DataType::kFloat64, {.lanes = 2, .chunks = 2});
  EXPECT_EQ(gather.Find(0, Buffer::kOutput, 7 * 4 + 3).offset,
            7 * 8 * kCount + 6 * kCount);  // block 7, last quarter
  EXPECT_EQ(gather.BufferBytes(0, Buffer::kOutput), 64 * kCount);
}

TEST(LayoutTest, OverflowIsRejected) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const auto make = [](Collective collective, const std::vector<std::uint64_t>& counts,
                       DataType type) {
    const int ranks = counts.size() > 1 ? static_cast<int>(counts.size()) : 2;
    return Layout({.collective = collective, .ranks = ranks, .root = 0, .counts = counts}, type,
                  {});
  };
  EXPECT_THROW(make(Collective::kAllReduce, {kMost}, DataType::kInt8), std::invalid_argument);
  EXPECT_THROW(make(Collective::kAllReduce, {kMost / 2}, DataType::kFloat64),
               std::invalid_argument);
  EXPECT_THROW(make(Collective::kAllToAll, {kMost / 17}, DataType::kFloat64),
               std::invalid_argument);
  EXPECT_THROW(
      make(Collective::kAllGather, std::vector<std::uint64_t>(9, kMost / 17), DataType::kInt8),
      std::invalid_argument);
  EXPECT_NO_THROW(
      make(Collective::kAllGather, std::vector<std::uint64_t>(8, kMost / 17), DataType::kInt8));
}

TEST(LayoutTest, ImpossibleShapesAreRejected) {
  const Counts counts{.collective = Collective::kAllReduce, .ranks = 2, .root = 0, .counts = {8}};
  EXPECT_THROW(Layout(counts, DataType::kInt8, {.lanes = 0, .chunks = 1}), std::invalid_argument);
  EXPECT_THROW(Layout(counts, DataType::kInt8, {.lanes = 1, .chunks = 0}), std::invalid_argument);
  EXPECT_THROW(Layout({.collective = Collective::kAllReduce, .ranks = 0, .root = 0, .counts = {8}},
                      DataType::kInt8, {}),
               std::invalid_argument);
}

// NCCL: sendbuff == recvbuff + rank * sendcount for all-gather and gather, recvbuff == sendbuff +
// rank * recvcount for reduce-scatter and scatter, the same address elsewhere.
TEST(LayoutTest, InPlaceOffsetsAreNccls) {
  constexpr int kRanks = 5;
  constexpr std::uint64_t kCount = 73;
  for (const Collective collective : kAllCollectives) {
    const Shape shape{.collective = collective, .ranks = kRanks, .root = 1};
    const Layout layout(EvenCounts(shape, kCount), DataType::kFloat32, {.lanes = 2, .chunks = 3});
    const bool blocks =
        std::find(std::begin(kOwnBlock), std::end(kOwnBlock), collective) != std::end(kOwnBlock);
    const bool same = collective == Collective::kAllReduce ||
                      collective == Collective::kBroadcast || collective == Collective::kReduce;
    for (int rank = 0; rank < kRanks; ++rank) {
      const Layout::InPlace place = layout.FindInPlace(rank);
      EXPECT_EQ(place.supported, blocks || same) << Name(collective);
      EXPECT_EQ(place.offset, blocks ? rank * kCount * 4 : 0) << Name(collective);
      EXPECT_EQ(place.chunk_offset, blocks ? rank * 6 : 0) << Name(collective);
    }
  }
}

TEST(LayoutTest, SkewOfAllToAllVKeepsRankTotals) {
  const Counts counts =
      EvenCounts({.collective = Collective::kAllToAllV, .ranks = 6, .root = 0}, 100);
  for (int from = 0; from < 6; ++from) {
    std::uint64_t total = 0;
    for (int to = 0; to < 6; ++to) total += counts.counts[from * 6 + to];
    EXPECT_EQ(total, 600U);
  }
  EXPECT_EQ(*std::min_element(counts.counts.begin(), counts.counts.end()), 50U);
  EXPECT_EQ(*std::max_element(counts.counts.begin(), counts.counts.end()), 150U);
}

}  // namespace
}  // namespace hockney
