#include "topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

RankSite At(const std::string& host, int node, std::optional<int> numa = {},
            std::optional<int> cache = {}) {
  return {.host_name = host, .node = node, .cpus = {.numa_node = numa, .cache = cache}};
}

SwitchTree TwoPods() {
  return {.racks = {{.name = "r0", .hosts = {"a", "b"}, .pod = "p0"},
                    {.name = "r1", .hosts = {"c"}, .pod = "p0"},
                    {.name = "r2", .hosts = {"d"}, .pod = "p1"},
                    {.name = "r3", .hosts = {"unused"}, .pod = "p2"},
                    {.name = "r4", .hosts = {"e"}}},
          .source = "a test"};
}

TEST(TopologyTest, InsideAHostTheNearestKnownThingCounts) {
  const Topology topology({At("a", 0, 0, 0), At("a", 0, 0, 0), At("a", 0, 0, 1), At("a", 0, 1, 2),
                           At("a", 0), At("a", 0)});
  EXPECT_EQ(topology.LevelBetween(0, 0), Level::kSelf);
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kCache);
  EXPECT_EQ(topology.LevelBetween(0, 2), Level::kNuma);
  EXPECT_EQ(topology.LevelBetween(0, 3), Level::kNode);
  // Ranks bound to nothing are in nothing smaller than the host, also with each other.
  EXPECT_EQ(topology.LevelBetween(0, 4), Level::kNode);
  EXPECT_EQ(topology.LevelBetween(4, 5), Level::kNode);
  EXPECT_EQ(topology.LevelBetween(4, 4), Level::kSelf);
}

TEST(TopologyTest, EqualNumbersOnDifferentHostsAreNothingInCommon) {
  const Topology topology({At("a", 0, 0, 0), At("b", 1, 0, 0)});
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kFabric);
}

TEST(TopologyTest, HostsAreThoseOfMpiWhateverTheirNames) {
  // Two containers with one name; and one host whose ranks see two names.
  const Topology topology({At("same", 0), At("same", 1), At("other", 1)});
  EXPECT_EQ(topology.nodes(), 2);
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kFabric);
  EXPECT_EQ(topology.LevelBetween(1, 2), Level::kNode);
  EXPECT_EQ(topology.host_name(1), "same");
}

TEST(TopologyTest, BetweenHostsRacksAndPodsCount) {
  const Topology topology(
      {At("a", 0), At("b", 1), At("c", 2), At("d", 3), At("e", 4), At("nowhere", 5)}, TwoPods());
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kRack);
  EXPECT_EQ(topology.LevelBetween(0, 2), Level::kPod);
  EXPECT_EQ(topology.LevelBetween(0, 3), Level::kFabric);
  EXPECT_EQ(topology.LevelBetween(0, 4), Level::kFabric);  // a rack without a pod
  EXPECT_EQ(topology.LevelBetween(0, 5), Level::kFabric);  // a host without a rack
  for (int a = 0; a < topology.ranks(); ++a) {
    for (int b = 0; b < topology.ranks(); ++b) {
      EXPECT_EQ(topology.LevelBetween(a, b), topology.LevelBetween(b, a));
    }
  }
}

TEST(TopologyTest, TwoHostsWithoutRacksAreNotInOneRack) {
  const Topology topology({At("x", 0), At("y", 1)}, TwoPods());
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kFabric);
  EXPECT_EQ(topology.rack_of_node(0), std::nullopt);
}

TEST(TopologyTest, NumbersFollowTheFirstRanksAndUnusedRacksAreLeftOut) {
  // Round robin over nodes numbered 7 and 3; d comes before a.
  const Topology topology({At("d", 7), At("a", 3), At("d", 7), At("a", 3), At("d", 7)}, TwoPods());
  EXPECT_EQ(topology.nodes(), 2);
  EXPECT_EQ(topology.racks(), 2);
  EXPECT_EQ(topology.pods(), 2);
  EXPECT_THAT(topology.ranks_of_node(0), ElementsAre(0, 2, 4));
  EXPECT_THAT(topology.ranks_of_node(1), ElementsAre(1, 3));
  EXPECT_THAT(topology.ranks_per_node(), ElementsAre(3, 2));
  EXPECT_EQ(topology.node_of_rank(4), 0);
  EXPECT_EQ(topology.host_name(0), "d");
  EXPECT_EQ(topology.rack_name(*topology.rack_of_node(0)), "r2");
  EXPECT_EQ(topology.pod_name(*topology.pod_of_rack(1)), "p0");
  EXPECT_THAT(topology.nodes_of_rack(1), ElementsAre(1));
  EXPECT_THAT(topology.racks_of_pod(0), ElementsAre(0));
}

TEST(TopologyTest, PairsAreCountedByLevel) {
  const Topology topology({At("a", 0, 0, 0), At("a", 0, 0, 1), At("b", 1), At("b", 1), At("c", 2)},
                          TwoPods());
  const std::vector<long long> pairs = topology.pairs_by_level();
  const auto of = [&](Level level) { return pairs.at(static_cast<std::size_t>(level)); };
  EXPECT_EQ(of(Level::kNuma), 1);
  EXPECT_EQ(of(Level::kNode), 1);
  EXPECT_EQ(of(Level::kRack), 4);
  EXPECT_EQ(of(Level::kPod), 4);
  EXPECT_EQ(std::accumulate(pairs.begin(), pairs.end(), 0LL), 10);
}

TEST(TopologyTest, RanksOnGpusHaveTheLevelsOfTheseBetweenThem) {
  const auto on_gpu = [](const char* bus_id) {
    RankSite site = At("a", 0, 0, 0);
    site.gpu = bus_id;
    site.to_gpus = {{"g0", GpuLevel::kNvlink}, {"g1", GpuLevel::kSocket}};
    return site;
  };
  const Topology topology({on_gpu("g0"), on_gpu("g0"), on_gpu("g1"), on_gpu("g2")});
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kGpu);
  EXPECT_EQ(topology.LevelBetween(0, 2), Level::kSocket);
  EXPECT_EQ(topology.LevelBetween(2, 0), Level::kNvlink);
  EXPECT_EQ(topology.LevelBetween(0, 3), Level::kNode) << "not known";
}

TEST(TopologyTest, RefusesNoRanks) { EXPECT_THROW(Topology({}), std::invalid_argument); }

TEST(FindRacksTest, DomainsMayBeMissingOnEitherSide) {
  const SwitchTree tree{.racks = {{.name = "r0", .hosts = {"a", "b.x.org"}},
                                  {.name = "r1", .hosts = {"a.y.org", "c"}}}};
  const std::vector<std::string> hosts = {"a",       "a.y.org", "a.z.org", "b",
                                          "b.y.org", "c.y.org", "d"};
  EXPECT_THAT(FindRacks(tree, hosts),
              ElementsAre(Optional(0U), Optional(1U), Optional(0U), Optional(0U), std::nullopt,
                          Optional(1U), std::nullopt));
}

TEST(PlaceOfTest, WhatAllCpusShareIsKnown) {
  const CpuMap map = {{0, {.numa_node = 0, .cache = 0}},
                      {1, {.numa_node = 0, .cache = 1}},
                      {2, {.numa_node = 1, .cache = 2}},
                      {3, {.numa_node = {}, .cache = 2}}};
  const auto place = [&](std::vector<int> cpus) { return PlaceOf(map, cpus); };
  EXPECT_EQ(place({0}), (CpuPlace{.numa_node = 0, .cache = 0}));
  EXPECT_EQ(place({0, 1}), (CpuPlace{.numa_node = 0, .cache = {}}));
  EXPECT_EQ(place({0, 2}), CpuPlace{});
  EXPECT_EQ(place({2, 3}), (CpuPlace{.numa_node = {}, .cache = 2}));
  EXPECT_EQ(place({0, 2, 0}), CpuPlace{});  // what is not known stays so
  EXPECT_EQ(place({9}), CpuPlace{});
  EXPECT_EQ(place({}), CpuPlace{});
}

TEST(PlaceOfTest, ThisMachineIsKnown) {
  const CpuMap map = ReadCpuMap();
  ASSERT_FALSE(map.empty());
  EXPECT_TRUE(map.begin()->second.numa_node.has_value());
}

TEST(FormatRanksPerNodeTest, UnevenIsNeverOneNumber) {
  const auto text = [](std::vector<int> ranks) { return FormatRanksPerNode(ranks); };
  EXPECT_EQ(text({3}), "3");
  EXPECT_EQ(text({7, 8}), "7,8");
  EXPECT_EQ(text({1, 1, 5}), "1,1,5");
  EXPECT_EQ(text(std::vector<int>(16, 2)), "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2");
  std::vector<int> many(64, 8);
  EXPECT_EQ(text(many), "64 of 8");
  many.push_back(7);
  EXPECT_EQ(text(many), "64 of 8, 1 of 7");
}

TEST(LevelsTest, LettersAndNamesDiffer) {
  std::string letters;
  std::string names;
  for (const Level level : kAllLevels) {
    letters += Letter(level);
    names += std::string(Name(level)) + " ";
  }
  EXPECT_EQ(letters, "=cugvxbsnrpf");
  EXPECT_EQ(names,
            "self cache numa gpu nvlink pcie_switch host_bridge socket node rack pod fabric ");
  letters = names = "";
  for (const GpuLevel level : kAllGpuLevels) {
    letters += Letter(level);
    names += std::string(Name(level)) + " ";
  }
  EXPECT_EQ(letters, "=vpbs");
  EXPECT_EQ(names, "self nvlink pcie_switch host_bridge socket ");
}

}  // namespace
}  // namespace hockney
