#include "tuner/bandwidth.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace hockney {
namespace {

constexpr Collective kTotalSize[] = {Collective::kReduceScatter, Collective::kAllGather,
                                     Collective::kAllToAll,      Collective::kAllToAllV,
                                     Collective::kGather,        Collective::kScatter};
constexpr Collective kFactorOne[] = {Collective::kBroadcast, Collective::kReduce,
                                     Collective::kSendRecv};

TEST(BusFactorTest, AllReduceByRanks) {
  EXPECT_FALSE(BusFactor(Collective::kAllReduce, 1).has_value());
  for (const auto& [ranks, factor] :
       {std::tuple{2, 1.0}, {3, 4.0 / 3}, {7, 12.0 / 7}, {8, 1.75}, {15, 28.0 / 15}}) {
    EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllReduce, ranks).value(), factor) << ranks;
  }
}

TEST(BusFactorTest, OneRankHasNone) {
  for (const Collective collective : kTotalSize) {
    EXPECT_FALSE(BusFactor(collective, 1).has_value()) << Name(collective);
    EXPECT_DOUBLE_EQ(BusFactor(collective, 8).value(), 0.875) << Name(collective);
  }
  for (const Collective collective : kFactorOne) {
    EXPECT_FALSE(BusFactor(collective, 1).has_value()) << Name(collective);
    EXPECT_EQ(BusFactor(collective, 8), 1.0) << Name(collective);
  }
  EXPECT_FALSE(BusFactor(Collective::kBarrier, 8).has_value());
  EXPECT_THROW(BusFactor(Collective::kAllReduce, 0), std::invalid_argument);
}

// 8388608 bytes in 1000 us on 8 ranks.
TEST(BusFactorTest, BandwidthInDecimalGigabytes) {
  const double algbw = 8388608 / 1000e-6 / 1e9;  // GB/s
  EXPECT_DOUBLE_EQ(algbw, 8.388608);
  EXPECT_DOUBLE_EQ(algbw * *BusFactor(Collective::kAllReduce, 8), 14.680064);
  for (const Collective collective :
       {Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll}) {
    EXPECT_DOUBLE_EQ(algbw * *BusFactor(collective, 8), 7.340032) << Name(collective);
  }
  for (const Collective collective : kFactorOne) {
    EXPECT_DOUBLE_EQ(algbw * *BusFactor(collective, 8), 8.388608) << Name(collective);
  }
}

TEST(SizeBytesTest, TotalForBlockCollectives) {
  for (const Collective collective : kTotalSize) {
    EXPECT_EQ(SizeBytes(collective, 262144, DataType::kFloat32, 8), 8388608U) << Name(collective);
    EXPECT_EQ(CountForSize(collective, 8388608, DataType::kFloat32, 8), 262144U)
        << Name(collective);
  }
  EXPECT_EQ(SizeBytes(Collective::kAllReduce, 2097152, DataType::kFloat32, 8), 8388608U);
  for (const Collective collective : kFactorOne) {
    EXPECT_EQ(SizeBytes(collective, 100, DataType::kBfloat16, 8), 200U) << Name(collective);
  }
  EXPECT_EQ(SizeBytes(Collective::kBarrier, 100, DataType::kFloat32, 8), 0U);
}

TEST(SizeBytesTest, CountRoundsDown) {
  for (const Collective collective : kAllCollectives) {
    for (const std::uint64_t size : {0, 1, 7, 8, 127, 128, 1000, 4095, 4097}) {
      for (const int ranks : {1, 2, 3, 7, 8}) {
        const std::uint64_t count = CountForSize(collective, size, DataType::kFloat64, ranks);
        EXPECT_LE(SizeBytes(collective, count, DataType::kFloat64, ranks), size);
        if (collective == Collective::kBarrier) continue;
        EXPECT_GT(SizeBytes(collective, count + 1, DataType::kFloat64, ranks), size);
      }
    }
  }
}

TEST(SizeBytesTest, SixtyFourBits) {
  constexpr std::uint64_t kSize = (std::uint64_t{1} << 40) + 1;
  EXPECT_EQ(SizeBytes(Collective::kAllReduce, kSize, DataType::kInt8, 2), kSize);
  EXPECT_EQ(CountForSize(Collective::kAllGather, 4294967296, DataType::kFloat32, 2), 536870912U);
  const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THROW(SizeBytes(Collective::kAllGather, largest / 2, DataType::kInt8, 3),
               std::overflow_error);
  EXPECT_THROW(SizeBytes(Collective::kAllGather, 1, DataType::kInt8, 0), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
