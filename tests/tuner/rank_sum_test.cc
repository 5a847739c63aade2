#include "tuner/rank_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace hockney {
namespace {

using Values = std::vector<double>;

TEST(RankSumTest, SmallGroupsHaveTheTablesPValues) {
  // Fully apart: 2 of the C(n + m, n) arrangements are as extreme.
  EXPECT_DOUBLE_EQ(RankSumPValue(Values{1, 2, 3}, Values{4, 5, 6}), 2.0 / 20);
  EXPECT_DOUBLE_EQ(RankSumPValue(Values{1, 2, 3, 4, 5}, Values{6, 7, 8, 9, 10}), 2.0 / 252);
  EXPECT_DOUBLE_EQ(RankSumPValue(Values{1, 2, 3, 5}, Values{4, 6, 7, 8}), 4.0 / 70);
  EXPECT_DOUBLE_EQ(RankSumPValue(Values{1, 4}, Values{2, 3}), 1);
}

TEST(RankSumTest, TiesUseMidranksAndAllEqualIsNoDifference) {
  EXPECT_DOUBLE_EQ(RankSumPValue(Values{5, 5, 5}, Values{5, 5, 5}), 1);
  // Ranks 1, 2.5 against 2.5, 4: of the 6 pairs, {1, 2.5} twice and {2.5, 4} twice are as extreme.
  EXPECT_DOUBLE_EQ(RankSumPValue(Values{1, 2}, Values{2, 3}), 4.0 / 6);
}

TEST(RankSumTest, TheOrderOfGroupsAndValuesDoesNotMatter) {
  const Values a{3, 1, 2, 9, 4};
  const Values b{7, 8, 5, 6};
  EXPECT_DOUBLE_EQ(RankSumPValue(a, b), RankSumPValue(b, a));
  EXPECT_DOUBLE_EQ(RankSumPValue(Values{1, 2, 3, 4, 9}, b), RankSumPValue(a, b));
}

TEST(RankSumTest, ItErrsNoMoreOftenThanItSays) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> draw(0, 0.2);
  int claims = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    Values a(8);
    Values b(8);
    for (double& v : a) v = draw(random);
    for (double& v : b) v = draw(random);
    claims += RankSumPValue(a, b) <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(claims, kTrials * 0.06);
  EXPECT_GE(claims, kTrials * 0.03);
}

TEST(RankSumTest, ARealDifferenceIsFound) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> draw(0, 0.05);
  int found = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Values a(6);
    Values b(6);
    for (double& v : a) v = draw(random);
    for (double& v : b) v = 1.2 * draw(random);
    found += RankSumPValue(a, b) <= 0.01 ? 1 : 0;
  }
  EXPECT_GE(found, 190);
}

TEST(RatioOfGroupsTest, IsTheMedianQuotientWithTheTestsInterval) {
  const Ratio ratio = RatioOfGroups(Values{1, 1, 1, 1, 1}, Values{2, 2, 2, 2, 2});
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_DOUBLE_EQ(ratio.interval.low, 2);
  EXPECT_DOUBLE_EQ(ratio.interval.high, 2);
  EXPECT_TRUE(ratio.interval.confident);
  // 4 against 4 at 5 %: the tail of one arrangement of 70 fits (1.4 %), of two does not (2.9 %).
  const Ratio wide = RatioOfGroups(Values{1, 2, 4, 8}, Values{3, 6, 12, 24});
  EXPECT_DOUBLE_EQ(wide.value, 3);
  EXPECT_DOUBLE_EQ(wide.interval.low, 3.0 / 8);
  EXPECT_DOUBLE_EQ(wide.interval.high, 24);
  EXPECT_TRUE(wide.interval.confident);
}

TEST(RatioOfGroupsTest, TooFewValuesGiveTheirRangeWithoutConfidence) {
  const Ratio ratio = RatioOfGroups(Values{1, 2}, Values{3, 4});
  EXPECT_FALSE(ratio.interval.confident);
  EXPECT_DOUBLE_EQ(ratio.interval.low, 1.5);
  EXPECT_DOUBLE_EQ(ratio.interval.high, 4);
}

TEST(RatioOfGroupsTest, TheIntervalCoversTheTruth) {
  std::mt19937 random(3);
  std::lognormal_distribution<double> draw(0, 0.3);
  int covered = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Values a(7);
    Values b(7);
    for (double& v : a) v = draw(random);
    for (double& v : b) v = 1.5 * draw(random);
    const Ratio ratio = RatioOfGroups(a, b);
    covered += ratio.interval.low <= 1.5 && 1.5 <= ratio.interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, 940);
}

TEST(RankSumTest, RefusesWhatCannotBeCompared) {
  const Values good{1, 2};
  for (const Values& bad :
       {Values{}, Values{0, 1}, Values{-1}, Values{std::numeric_limits<double>::quiet_NaN()},
        Values{std::numeric_limits<double>::infinity()}, Values(65, 1.0)}) {
    EXPECT_THROW(RankSumPValue(good, bad), std::invalid_argument);
    EXPECT_THROW(RatioOfGroups(bad, good), std::invalid_argument);
  }
}

}  // namespace
}  // namespace hockney
