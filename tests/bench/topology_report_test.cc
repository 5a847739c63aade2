#include "bench/topology_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/gpu_text.h"
#include "bench/topology_text.h"

namespace hockney {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

RankSite At(int node, std::optional<int> numa = {}, std::optional<int> cache = {}) {
  return {.host_name = "h" + std::to_string(node),
          .node = node,
          .cpus = {.numa_node = numa, .cache = cache}};
}

// `ranks` ranks on each of `hosts` hosts.
Topology Uniform(int hosts, int ranks, const SwitchTree& tree = {}) {
  std::vector<RankSite> sites;
  for (int host = 0; host < hosts; ++host) {
    for (int rank = 0; rank < ranks; ++rank) sites.push_back(At(host, 0, rank / 2));
  }
  return Topology(sites, tree);
}

SwitchTree TwoRacks() {
  return {.racks = {{.name = "rack0", .hosts = {"h0", "h1"}, .pod = "pod0"},
                    {.name = "rack1", .hosts = {"h2"}, .pod = "pod0"}},
          .source = "a test"};
}

TEST(TopologyTextTest, OneHostIsATreeAndAMatrix) {
  const Topology topology({At(0, 0, 0), At(0, 0, 0), At(0, 0, 1), At(0, 1, 2), At(0)});
  EXPECT_EQ(TopologyText(TopologyJson(topology)),
            "topology: racks not known (--cluster-file, --slurm-topology or HOCKNEY_CLUSTER_FILE "
            "tells); pairs of ranks: cache 1, numa 2, node 7\n"
            "  node h0: on no one numa node (rank 4); numa 0 (cache 0: ranks 0-1; cache 1: rank "
            "2); numa 1 (cache 2: rank 3)\n"
            "levels between ranks: = self, c cache, u numa, n node\n"
            "rank  to each rank\n"
            "   0  =cunn\n"
            "   1  c=unn\n"
            "   2  uu=nn\n"
            "   3  nnn=n\n"
            "   4  nnnn=\n");
}

TEST(TopologyTextTest, HostsLieInTheirRacksAndPods) {
  const Topology topology({At(0), At(1), At(2), At(2), At(3)}, TwoRacks());
  EXPECT_EQ(TopologyText(TopologyJson(topology)),
            "topology: racks by a test; pairs of ranks: node 1, rack 1, pod 4, fabric 4\n"
            "  not in it: h3\n"
            "  fabric\n"
            "    pod pod0\n"
            "      rack rack0\n"
            "        node h0: on no one numa node (rank 0)\n"
            "        node h1: on no one numa node (rank 1)\n"
            "      rack rack1\n"
            "        node h2: on no one numa node (ranks 2-3)\n"
            "    node h3: on no one numa node (rank 4)\n"
            "levels between ranks: = self, n node, r rack, p pod, f fabric\n"
            "rank  to each rank\n"
            "   0  =rppf\n"
            "   1  r=ppf\n"
            "   2  pp=nf\n"
            "   3  ppn=f\n"
            "   4  ffff=\n");
}

TEST(TopologyTextTest, OneRankHasNoPairs) {
  EXPECT_THAT(TopologyText(TopologyJson(Topology({At(0)}))), HasSubstr("pairs of ranks: none"));
}

TEST(TopologyReportTest, MoreThan32RanksAreAMatrixOfHosts) {
  EXPECT_EQ(TopologyJson(Uniform(4, 8))["matrix"]["between"], "ranks");
  const auto json = TopologyJson(Uniform(3, 11, TwoRacks()));
  EXPECT_EQ(json["matrix"]["between"], "hosts");
  EXPECT_EQ(json["matrix"]["rows"], (std::vector<std::string>{"urp", "rup", "ppu"}));
  EXPECT_THAT(TopologyText(json), HasSubstr("host  to each host  name\n   0  urp           h0\n"));
  // With one rank a host there is nothing inside it.
  EXPECT_THAT(TopologyJson(Uniform(40, 1))["matrix"]["rows"][0].get<std::string>(),
              StartsWith("=fff"));
}

TEST(TopologyReportTest, MoreThan64HostsAreCounted) {
  const auto json = TopologyJson(Uniform(65, 2, TwoRacks()));
  EXPECT_TRUE(json["matrix"].is_null());
  EXPECT_EQ(json["hosts"].size(), 65);
  EXPECT_THAT(TopologyText(json),
              AllOf(HasSubstr("rack rack0\n        2 hosts, 4 ranks\n"),
                    HasSubstr("    62 hosts, 124 ranks\n"), HasSubstr(" and 54 more\n"),
                    Not(HasSubstr("levels between"))));
}

TEST(TopologyReportTest, JsonHoldsHostsRanksAndPairs) {
  const auto json = TopologyJson(Topology({At(0, 0, 0), At(0, 0, 1), At(2, 0), At(5)}, TwoRacks()));
  EXPECT_EQ(json["source"], "a test");
  EXPECT_EQ(json["ranks_per_host"], (std::vector<int>{2, 1, 1}));
  EXPECT_EQ(json["hosts"][0]["name"], "h0");
  EXPECT_EQ(json["hosts"][0]["rack"], "rack0");
  EXPECT_EQ(json["hosts"][0]["pod"], "pod0");
  EXPECT_EQ(json["hosts"][0]["ranks"], (std::vector<int>{0, 1}));
  EXPECT_TRUE(json["hosts"][2]["rack"].is_null());
  EXPECT_EQ(json["ranks"][1]["cache"], 1);
  EXPECT_TRUE(json["ranks"][2]["cache"].is_null());
  EXPECT_EQ(json["pairs"].dump(), R"({"numa":1,"pod":2,"fabric":3})");
  EXPECT_TRUE(TopologyJson(Topology({At(0)}))["source"].is_null());
}

TEST(GpuTextTest, ShowsLevelsPathsAndNearestNics) {
  GpuTopology topology{.source = "a test"};
  topology.gpus = {{.name = "GPU0", .numa_node = 0, .cpu_list = "0-7"}, {.name = "GPU1"}};
  topology.nics = {{.name = "NIC0", .device = "mlx5_0"}, {.name = "NIC1"}};
  const auto path = [](const char* text) { return *ParseDevicePath(text); };
  topology.between_gpus = {{path("X"), path("NV4")}, {path("NV4"), path("X")}};
  topology.to_nics = {{path("PIX"), path("SYS")}, {path("PHB"), path("PHB")}};
  topology.notes = {"odd"};
  EXPECT_EQ(GpuTopologyText(GpuTopologyJson(topology)),
            "GPUs by a test\n"
            "gpu   to GPUs  to NICs  numa  cpus  nearest NIC\n"
            "GPU0  =v       ps          0  0-7   NIC0 mlx5_0 (PIX)\n"
            "GPU1  v=       bb          -  -     -\n"
            "  = self (X), v nvlink (NV4), p pcie_switch (PIX), b host_bridge (PHB), s socket "
            "(SYS)\n"
            "  note: odd\n");
}

TEST(GpuTextTest, UnknownIsNotTheSameAsNoNic) {
  EXPECT_EQ(GpuTopologyText(GpuTopologyJson({.source = "a test", .unknown_because = "it failed"})),
            "GPUs by a test\n  topology not known: it failed\n");
  GpuTopology topology{.source = "a test"};
  topology.gpus = {{.name = "GPU0"}};
  topology.between_gpus = {{*ParseDevicePath("X")}};
  topology.to_nics = {{}};
  EXPECT_THAT(GpuTopologyText(GpuTopologyJson(topology)), HasSubstr("  no NIC is listed there\n"));
}

}  // namespace
}  // namespace hockney
