#include "bench/links/measured_racks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `hosts` hosts of two ranks; `tree` is what somebody says of them.
Topology MakeTopology(int hosts, const SwitchTree& tree) {
  std::vector<RankSite> sites;
  sites.reserve(2 * hosts);
  for (int rank = 0; rank < 2 * hosts; ++rank) {
    sites.push_back({.host_name = "h" + std::to_string(rank / 2), .node = rank / 2});
  }
  return Topology(std::move(sites), tree);
}

// Hosts of equal parity are near.
PairMatrix MakeMatrix(int hosts, double near_us, double far_us) {
  PairMatrix matrix{.bytes = 8};
  matrix.time_us.assign(2 * hosts, std::vector<double>(2 * hosts));
  for (int a = 0; a < 2 * hosts; ++a) {
    for (int b = 0; b < 2 * hosts; ++b) {
      const bool same_host = a / 2 == b / 2;
      const double us = (a / 2 - b / 2) % 2 == 0 ? near_us : far_us;
      matrix.time_us[a][b] = a == b      ? std::numeric_limits<double>::quiet_NaN()
                             : same_host ? 0.1
                                         : us;
    }
  }
  matrix.low_us = matrix.time_us;
  return matrix;
}

TEST(MeasuredRacksTest, NearHostsAreInOneRack) {
  const Topology topology = MakeTopology(4, {});
  const SwitchTree tree = RacksByLatency(MakeMatrix(4, 5, 20), topology);
  ASSERT_EQ(tree.racks.size(), 2U);
  EXPECT_THAT(tree.racks[0].hosts, ElementsAre("h0", "h2"));
  EXPECT_THAT(tree.racks[1].hosts, ElementsAre("h1", "h3"));
  const std::string text = MeasuredRacksText(tree, topology);
  EXPECT_THAT(text, HasSubstr("show 2 racks:\n"));
  EXPECT_THAT(text, HasSubstr("rack1: h1 h3"));
}

TEST(MeasuredRacksTest, EqualLatenciesAndFewHostsShowNone) {
  EXPECT_THAT(RacksByLatency(MakeMatrix(4, 5, 5), MakeTopology(4, {})).racks, IsEmpty());
  EXPECT_THAT(RacksByLatency(MakeMatrix(3, 5, 20), MakeTopology(3, {})).racks, IsEmpty());
  EXPECT_EQ(MeasuredRacksText({}, MakeTopology(4, {})), "");
}

TEST(MeasuredRacksTest, WideIntervalsShowNone) {
  PairMatrix matrix = MakeMatrix(4, 5, 9);
  for (auto& row : matrix.low_us) {
    for (double& us : row) us *= 0.5;
  }
  EXPECT_THAT(RacksByLatency(matrix, MakeTopology(4, {})).racks, IsEmpty());
}

TEST(MeasuredRacksTest, RacksThatWereToldAreCompared) {
  SwitchTree right;
  right.racks = {{.name = "a", .hosts = {"h0", "h2"}}, {.name = "b", .hosts = {"h1", "h3"}}};
  SwitchTree wrong;
  wrong.racks = {{.name = "a", .hosts = {"h0", "h1"}}, {.name = "b", .hosts = {"h2", "h3"}}};
  const SwitchTree measured = RacksByLatency(MakeMatrix(4, 5, 20), MakeTopology(4, {}));
  EXPECT_THAT(MeasuredRacksText(measured, MakeTopology(4, right)), HasSubstr("as told"));
  EXPECT_THAT(MeasuredRacksText(measured, MakeTopology(4, wrong)), HasSubstr("others than told"));
}

}  // namespace
}  // namespace hockney
