// Ranks on several hosts, which are network namespaces of this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tests/scripts/virtual_cluster.h"
#include "tuner/records.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Quoted;
using testing::ScratchFolder;
using testing::VirtualCluster;

bool MayRun(const VirtualCluster& cluster, const std::string& options) {
  return cluster.UpOrSkip(options) &&
         RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed");
}

TEST(HostsTest, EveryCollectiveGivesRightDataBetweenHosts) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2")) return;
  const ScratchFolder folder;
  const Outcome outcome = cluster.Run(
      "-n 4", "$HOCKNEY sweep all -b 1K -e 64K -f 64 --row-budget 5ms -n 2 -w 1 --out " +
                  folder.Path("run"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::string> transports;
  int measured = 0;
  for (const SweepRow& row : ReadSweep(folder.Path("run"))) {
    EXPECT_EQ(row.nodes, 2);
    EXPECT_NE(row.status, Status::kFailed) << row.algorithm << " " << row.reason;
    EXPECT_NE(row.status, Status::kWrongData) << row.algorithm << " " << row.reason;
    if (row.status != Status::kOk || row.implementation != "hockney") continue;
    ++measured;
    EXPECT_EQ(row.clock, "tsc");  // one kernel
    transports.insert(row.transport);
  }
  EXPECT_GT(measured, 50);
  EXPECT_TRUE(transports.contains("shm:memfd+ucx:tcp")) << *transports.begin();
  const nlohmann::json run = ReadRun(folder.Path("run"));
  EXPECT_EQ(run["hosts"].size(), 2);
  ASSERT_GT(run["transports"].size(), 0);
  EXPECT_EQ(run["transports"][0]["transport"], "ucx:tcp");
  EXPECT_EQ(run["transports"][0]["device"], "eth0");
}

TEST(PublicCaseTest, B44UnequalRanksPerHostRunAndAreListed) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2")) return;
  const ScratchFolder folder;
  const Outcome outcome = cluster.Run(
      "-n 3",
      "$HOCKNEY sweep all_reduce --algorithm ring,hierarchical -b 1K -e 1M -f 32 -n 2 -w 1 "
      "--out " +
          folder.Path("run"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("ranks per host 2,1"));
  for (const SweepRow& row : ReadSweep(folder.Path("run"))) {
    EXPECT_NE(row.status, Status::kFailed) << row.algorithm << " " << row.reason;
    EXPECT_NE(row.status, Status::kWrongData) << row.algorithm << " " << row.reason;
  }
}

// The clocks of virtual hosts are one; the comparison of clocks over the network must find that.
TEST(HostsTest, AComparedClockAgreesWithTheCommonOne) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2 --host-rate 100mbit")) return;
  const ScratchFolder folder;
  const Outcome outcome = cluster.Run(
      "",
      "$HOCKNEY sweep all_reduce --algorithm ring --implementation hockney --lanes 1 -b 4M -e 4M "
      "--clock hca3 -n 5 -w 1 --out " +
          folder.Path("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<SweepRow> rows = ReadSweep(folder.Path("run"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].clock, "hca3");
  ASSERT_TRUE(rows[0].clock_error_us && rows[0].time_us_median);
  EXPECT_LT(*rows[0].clock_error_us, 0.05 * *rows[0].time_us_median);
}

TEST(HostsTest, LinksFindsTheLevelsAndTheRateThatIsSet) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 2 --hosts 1 --host-rate 400mbit --spine-rate 100mbit")) return;
  const ScratchFolder folder;
  const Outcome outcome = cluster.Run(
      "-n 4", "$HOCKNEY links -e 1M --budget 30ms --rails --bisect --out " + folder.Path("run"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::string> levels;
  for (const LinkRow& row : ReadLinks(folder.Path("run"))) {
    levels.insert(row.level);
    EXPECT_GT(row.time_us_median, 0);
  }
  EXPECT_TRUE(levels.contains("fabric"));
  EXPECT_FALSE(levels.contains("rack"));  // no pair has it, so it is not invented
  const nlohmann::json run = ReadRun(folder.Path("run"));
  EXPECT_EQ(run["outcome"], "finished");
  EXPECT_EQ(run["shaping"]["burst_bytes"], 131072);
  for (const nlohmann::json& level : run["levels"]) {
    EXPECT_GT(level["latency_us"], 0.0);
    if (level["level"] != "fabric") continue;
    // The slower of the links: 100 Mbit/s less what goes before every packet's data. A bucket that
    // holds a burst must not show as a faster link.
    EXPECT_LT(level["rate_GBps"], 1.15 * 100e6 / 8 * 1448 / 1514 / 1e9);
    EXPECT_GT(level["rate_GBps"], 0.5 * 100e6 / 8 * 1448 / 1514 / 1e9);
  }
  EXPECT_EQ(run["across"].size(), 2);
}

TEST(HostsFaultTest, AKilledRankOfAnotherHostIsNamed) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2")) return;
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  // Rank 1 kills itself when the first rows are there.
  const std::string body =
      "if [ $OMPI_COMM_WORLD_RANK = 1 ]; then (while ! [ -s " + run +
      "/sweep.csv ]; do sleep 0.05; done; kill -9 $$) & fi; exec $HOCKNEY sweep all_reduce "
      "--implementation hockney --lanes 1 -b 1K -e 4M -f 2 --row-budget 3s -T 30 --out " +
      run;
  const Outcome outcome = cluster.Run("", "sh -c " + Quoted(body));
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("lost rank 1 on r0h1"));
  const nlohmann::json ended = ReadRun(run);
  EXPECT_EQ(ended["exit_code"], 4);
  EXPECT_EQ(ended["lost_rank"], 1);
  EXPECT_FALSE(ReadSweep(run).empty());
}

TEST(HostsFaultTest, AHostThatIsCutOffIsNamedLongBeforeTheDeadline) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2")) return;
  const ScratchFolder folder;
  const std::string run = folder.Path("run");
  const std::string body =
      "if [ $OMPI_COMM_WORLD_RANK = 1 ]; then (while ! [ -s " + run +
      "/sweep.csv ]; do sleep 0.05; done; ip link set eth0 down) & fi; exec "
      "$HOCKNEY sweep all_reduce "
      "--implementation hockney --lanes 1 -b 1K -e 4M -f 2 --row-budget 3s -T 600 --out " +
      run;
  // mpirun itself does not notice for minutes, so it gets an end.
  const Outcome outcome =
      cluster.Run("--mpirun " + Quoted("--timeout 35"), "sh -c " + Quoted(body));
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("its host does not answer any more"));
  const nlohmann::json ended = ReadRun(run);
  EXPECT_EQ(ended["exit_code"], 4);
  EXPECT_EQ(ended["outcome"], "lost_rank");
}

TEST(PublicCaseTest, B47AnUnknownInterfaceEndsAllRanksNamingThoseThereAre) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2")) return;
  const Outcome outcome = cluster.Run("", "$HOCKNEY sweep all_reduce -e 8 --iface eth99");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--iface: \"eth99\""), HasSubstr("eth0")));
}

TEST(PublicCaseTest, B47ADeviceThatLeadsNowhereEndsWithinTheDeadline) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2")) return;
  // Every host has the same address there, as with docker0.
  for (const char* host : {"r0h0", "r0h1"}) {
    ASSERT_EQ(cluster
                  .In(host,
                      "ip link add bridge0 type bridge && ip addr add 172.17.0.1/16 dev bridge0 && "
                      "ip link set bridge0 up")
                  .exit_code,
              0);
  }
  const ScratchFolder folder;
  const Outcome fine = cluster.Run(
      "", "$HOCKNEY sweep all_reduce --algorithm ring -e 8 -n 2 -w 1 --out " + folder.Path("fine"));
  EXPECT_EQ(fine.exit_code, 0) << fine.err;
  const Outcome outcome = cluster.Run(
      "--mpirun " + Quoted("-x UCX_NET_DEVICES=bridge0"),
      "$HOCKNEY sweep all_reduce --algorithm ring -e 8 -T 5 --out " + folder.Path("run"));
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("bridge0"));
}

TEST(PublicCaseTest, B47HostNamesThatResolveToLoopbackDoNoHarm) {
  const VirtualCluster cluster;
  if (!MayRun(cluster, "--racks 1 --hosts 2")) return;
  const ScratchFolder folder;
  const std::string hosts = folder.Path("hosts");
  const std::string body =
      "echo 127.0.1.1 $(hostname) >" + hosts + ".$OMPI_COMM_WORLD_RANK; mount --bind " + hosts +
      ".$OMPI_COMM_WORLD_RANK /etc/hosts; grep -q 127.0.1.1 /etc/hosts || exit 9;"
      "exec $HOCKNEY sweep all_reduce --algorithm ring -e 8 -n 2 -w 1 --out " +
      folder.Path("run");
  const Outcome outcome = cluster.Run("", "unshare --mount sh -c " + Quoted(body));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
}  // namespace hockney
