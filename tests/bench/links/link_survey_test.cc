#include "bench/links/link_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/links/link_pairs.h"

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two racks of two hosts of two ranks, in rank order.
Topology TwoRacks() {
  std::vector<RankSite> sites;
  for (int rank = 0; rank < 8; ++rank) {
    const int node = rank / 2;
    sites.push_back({.host_name = "h" + std::to_string(node), .node = node});
  }
  SwitchTree tree;
  tree.racks = {{.name = "r0", .hosts = {"h0", "h1"}}, {.name = "r1", .hosts = {"h2", "h3"}}};
  return Topology(std::move(sites), tree);
}

TEST(LinkPairsTest, PairsOfALevelShareWhatItIsAbout) {
  const Topology topology = TwoRacks();
  EXPECT_THAT(PairsOfLevel(topology, Level::kNode), ElementsAre(RankPair{0, 1}));
  EXPECT_THAT(PairsOfLevel(topology, Level::kRack), ElementsAre(RankPair{0, 2}, RankPair{1, 3}));
  EXPECT_THAT(PairsOfLevel(topology, Level::kFabric),
              ElementsAre(RankPair{0, 4}, RankPair{1, 5}, RankPair{2, 6}, RankPair{3, 7}));
}

TEST(LinkPairsTest, ALevelThatNoPairHasIsNotInvented) {
  EXPECT_THAT(PairsOfLevel(TwoRacks(), Level::kPod), IsEmpty());
  EXPECT_THAT(PairsOfLevel(TwoRacks(), Level::kCache), IsEmpty());
}

TEST(LinkPairsTest, RailsAndHalvesUseEveryRankOnce) {
  EXPECT_THAT(RailPairs(TwoRacks()),
              ElementsAre(RankPair{0, 2}, RankPair{1, 3}, RankPair{4, 6}, RankPair{5, 7}));
  EXPECT_THAT(BisectionPairs(TwoRacks()),
              ElementsAre(RankPair{0, 4}, RankPair{1, 5}, RankPair{2, 6}, RankPair{3, 7}));
}

// All pairs take `us`, with a little noise that differs from pair to pair.
PairMatrix Even(int ranks, double us) {
  PairMatrix matrix{.bytes = 8};
  const std::vector<double> none(ranks, std::numeric_limits<double>::quiet_NaN());
  matrix.time_us.assign(ranks, none);
  matrix.low_us.assign(ranks, none);
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks; ++b) {
      const double time = us * (1 + 0.01 * ((a * 3 + b) % 5));
      matrix.time_us[a][b] = matrix.time_us[b][a] = time;
      matrix.low_us[a][b] = matrix.low_us[b][a] = time * 0.98;
    }
  }
  return matrix;
}

TEST(SlowPairsTest, NoiseNamesNobody) {
  EXPECT_THAT(FindSlowPairs(Even(8, 10), TwoRacks()), IsEmpty());
}

TEST(SlowPairsTest, APairSlowerThanItsLevelIsNamed) {
  PairMatrix matrix = Even(8, 10);
  matrix.time_us[2][5] = matrix.time_us[5][2] = 20;
  matrix.low_us[2][5] = matrix.low_us[5][2] = 19;
  const std::vector<SlowPair> slow = FindSlowPairs(matrix, TwoRacks());
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].rank_a, 2);
  EXPECT_EQ(slow[0].rank_b, 5);
  EXPECT_EQ(slow[0].level, Level::kFabric);
  EXPECT_DOUBLE_EQ(slow[0].time_us, 20);
  EXPECT_LT(slow[0].level_us, 11);
}

TEST(SlowPairsTest, AnUncertainTimeIsNoOutlier) {
  PairMatrix matrix = Even(8, 10);
  matrix.time_us[2][5] = matrix.time_us[5][2] = 20;
  matrix.low_us[2][5] = matrix.low_us[5][2] = 10;
  EXPECT_THAT(FindSlowPairs(matrix, TwoRacks()), IsEmpty());
}

TEST(SlowPairsTest, AFarLevelIsNotSlowForBeingFar) {
  PairMatrix matrix = Even(8, 10);
  const Topology topology = TwoRacks();
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      if (topology.LevelBetween(a, b) != Level::kFabric) continue;
      matrix.time_us[a][b] *= 5;
      matrix.low_us[a][b] *= 5;
    }
  }
  EXPECT_THAT(FindSlowPairs(matrix, topology), IsEmpty());
}

}  // namespace
}  // namespace hockney
