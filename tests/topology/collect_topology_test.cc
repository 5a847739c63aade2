#include "topology/collect_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // setenv

#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/scratch_folder.h"
#include "topology/check.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;

constexpr double kTimeout = 30;

// What rank `rank` of a made-up job says: hosts as named, one `local` session a host.
struct MadeUp {
  std::vector<std::string> host_of_rank;
  std::vector<std::vector<std::string>> switches_of_rank = {};
  SwitchTree tree = {};
};

// The topology that every rank gets; fails if they differ in the levels.
Topology Collect(const MadeUp& job) {
  const int ranks = static_cast<int>(job.host_of_rank.size());
  std::vector<std::optional<Topology>> all(ranks);
  RunThreadRanks(ranks, kTimeout, [&](Session& session) {
    const int rank = session.rank();
    int host = 0;  // the first rank with the same name
    while (job.host_of_rank[host] != job.host_of_rank[rank]) ++host;
    Session local = session.Split(host, rank);
    RankReport report{.site = {.host_name = job.host_of_rank[rank], .node = 4711}};
    report.site.cpus.cache = rank;
    if (!job.switches_of_rank.empty()) report.switches = job.switches_of_rank[rank];
    all[rank] = CollectTopology(session, local, report, job.tree);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    for (int a = 0; a < ranks; ++a) {
      for (int b = 0; b < ranks; ++b) {
        EXPECT_EQ(all[rank]->LevelBetween(a, b), all[0]->LevelBetween(a, b));
      }
    }
  }
  return *all[0];
}

TEST(CollectTopologyTest, NodesAreThoseOfTheSharedMemorySplit) {
  const Topology topology = Collect({.host_of_rank = {"a", "b", "a", "b", "b"}});
  EXPECT_EQ(topology.nodes(), 2);
  EXPECT_THAT(topology.ranks_per_node(), ElementsAre(2, 3));
  EXPECT_THAT(topology.ranks_of_node(1), ElementsAre(1, 3, 4));
  EXPECT_EQ(topology.LevelBetween(0, 2), Level::kNode);
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kFabric);
  EXPECT_EQ(topology.cpus_of_rank(3).cache, 3);
  EXPECT_EQ(topology.source(), "");
}

TEST(CollectTopologyTest, ATreePlacesTheHosts) {
  const Topology topology =
      Collect({.host_of_rank = {"a", "b", "c.example.org"},
               .tree = {.racks = {{.name = "r0", .hosts = {"a", "c"}, .pod = "p"},
                                  {.name = "r1", .hosts = {"b"}, .pod = "p"}},
                        .source = "a test"}});
  EXPECT_EQ(topology.LevelBetween(0, 2), Level::kRack);
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kPod);
  EXPECT_EQ(topology.source(), "a test");
}

TEST(CollectTopologyTest, SlurmsSwitchesServeWhereThereIsNoTree) {
  MadeUp job{.host_of_rank = {"a", "b", "c", "a"},
             .switches_of_rank = {{"s0", "t0"}, {"s0", "t0"}, {"s1", "t0"}, {"s0", "t0"}}};
  const Topology topology = Collect(job);
  EXPECT_EQ(topology.source(), "SLURM_TOPOLOGY_ADDR");
  EXPECT_EQ(topology.LevelBetween(0, 3), Level::kNode);
  EXPECT_EQ(topology.LevelBetween(0, 1), Level::kRack);
  EXPECT_EQ(topology.LevelBetween(0, 2), Level::kPod);
  job.tree = {.racks = {{.name = "r0", .hosts = {"a", "b", "c"}}}, .source = "a file"};
  EXPECT_EQ(Collect(job).LevelBetween(0, 2), Level::kRack);
  // One rank that does not know makes nothing of it.
  job.tree = {};
  job.switches_of_rank[2].clear();
  EXPECT_EQ(Collect(job).source(), "");
}

TEST(CollectTopologyTest, ThisHostIsOneNode) {
  RunThreadRanks(3, kTimeout, [](Session& session) {
    Session local = session.SplitSharedMemory();
    const Topology topology = CollectTopology(session, local);
    EXPECT_EQ(topology.ranks(), 3);
    EXPECT_EQ(topology.nodes(), 1);
    EXPECT_NE(topology.host_name(0), "");
  });
}

// Files are read through the variable and the options.
class ReadSwitchTreeTest : public ::testing::Test {
 protected:
  ReadSwitchTreeTest() {
    unsetenv("HOCKNEY_CLUSTER_FILE");
    std::ofstream(folder_.Path("good.json")) << R"({"racks":[{"name":"r","hosts":["a"]}]})";
    std::ofstream(folder_.Path("bad.json")) << "{";
    std::ofstream(folder_.Path("topology.conf")) << "SwitchName=s0 Nodes=a\n";
  }
  ReadSwitchTreeTest(const ReadSwitchTreeTest&) = delete;
  ReadSwitchTreeTest& operator=(const ReadSwitchTreeTest&) = delete;
  ~ReadSwitchTreeTest() override { unsetenv("HOCKNEY_CLUSTER_FILE"); }

  // The names of the racks that all of three ranks read.
  std::vector<std::string> Racks(const TopologySources& sources) const {
    std::vector<std::vector<std::string>> names(3);
    RunThreadRanks(3, kTimeout, [&](Session& session) {
      for (const auto& rack : ReadSwitchTree(session, sources).racks) {
        names[session.rank()].push_back(rack.name);
      }
    });
    EXPECT_EQ(names[1], names[0]);
    EXPECT_EQ(names[2], names[0]);
    return names[0];
  }

  ScratchFolder folder_;
};

TEST_F(ReadSwitchTreeTest, OptionsComeBeforeTheVariable) {
  EXPECT_THAT(Racks({}), ElementsAre());
  EXPECT_THAT(Racks({.slurm_topology = folder_.Path("topology.conf")}), ElementsAre("s0"));
  setenv("HOCKNEY_CLUSTER_FILE", folder_.Path("good.json").c_str(), 1);
  EXPECT_THAT(Racks({}), ElementsAre("r"));
  EXPECT_THAT(Racks({.slurm_topology = folder_.Path("topology.conf")}), ElementsAre("s0"));
  setenv("HOCKNEY_CLUSTER_FILE", folder_.Path("bad.json").c_str(), 1);
  EXPECT_THAT(Racks({.cluster_file = folder_.Path("good.json")}), ElementsAre("r"));
}

TEST_F(ReadSwitchTreeTest, ABadFileFailsOnAllRanksAlike) {
  std::mutex mutex;
  int failed = 0;
  RunThreadRanks(3, kTimeout, [&](Session& session) {
    try {
      ReadSwitchTree(session, {.cluster_file = folder_.Path("bad.json")});
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("bad.json:1:2: "));
      EXPECT_NE(dynamic_cast<const AgreedMark*>(&error), nullptr);
      const std::scoped_lock lock(mutex);
      ++failed;
    }
  });
  EXPECT_EQ(failed, 3);
}

TEST_F(ReadSwitchTreeTest, TwoFilesAreOneTooMany) {
  EXPECT_THROW(Racks({.cluster_file = folder_.Path("good.json"),
                      .slurm_topology = folder_.Path("topology.conf")}),
               std::invalid_argument);
}

}  // namespace
}  // namespace hockney
