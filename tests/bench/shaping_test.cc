#include "bench/shaping.h"

#include <gtest/gtest.h>

namespace hockney {
namespace {

constexpr double kGoodput = 119.5e6;

TEST(ShapingTest, AHostMovesEachByteOfAnAllReduceOncePerDirectionBetweenTwoHosts) {
  // 2 ranks: size n takes n / goodput, busbw is n / time.
  EXPECT_DOUBLE_EQ(*NetworkBoundBusbw(Collective::kAllReduce, 2, 2, kGoodput), 0.1195);
  // 4 ranks on 2 hosts: the same time, but the bus factor is 1.5.
  EXPECT_DOUBLE_EQ(*NetworkBoundBusbw(Collective::kAllReduce, 4, 2, kGoodput), 0.1195 * 1.5);
}

TEST(ShapingTest, AnAllToAllMovesWhatItsRanksHaveForOthers) {
  // 4 ranks on 2 hosts, n bytes a rank: each host sends n, half of what its two ranks hold.
  // Time n / goodput, bus factor 3/4.
  EXPECT_DOUBLE_EQ(*NetworkBoundBusbw(Collective::kAllToAll, 4, 2, kGoodput), 0.1195 * 0.75);
}

TEST(ShapingTest, NoBoundWithoutALimitOrForUnlikeHosts) {
  EXPECT_FALSE(NetworkBoundBusbw(Collective::kAllReduce, 2, 2, 0));
  EXPECT_FALSE(NetworkBoundBusbw(Collective::kAllReduce, 5, 2, kGoodput));
  EXPECT_FALSE(NetworkBoundBusbw(Collective::kBarrier, 4, 2, kGoodput));
}

TEST(ShapingTest, AFewBurstsDecideAShortTime) {
  const Shaping shaping{.goodput_Bps = kGoodput, .burst_bytes = 128 * 1024};
  EXPECT_TRUE(IsBurstLimited(shaping, 1 << 20, false));
  EXPECT_FALSE(IsBurstLimited(shaping, 8 << 20, false));
  EXPECT_FALSE(IsBurstLimited(shaping, 2 << 20, true));
  EXPECT_TRUE(IsBurstLimited(shaping, (2 << 20) - 1, true));
}

}  // namespace
}  // namespace hockney
