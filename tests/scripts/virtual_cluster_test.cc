// scripts/virtual_cluster: what it makes, what ranks see of it, and that nothing of it stays.
#include "tests/scripts/virtual_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/requirements.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::CountLines;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::Outcome;
using testing::Quoted;
using testing::RunClusterAgent;
using testing::RunClusterScript;
using testing::RunShell;
using testing::VirtualCluster;

nlohmann::json ReadJson(const std::string& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

// Everything of this machine that a cluster could leave behind, as text. Its namespaces and mounts
// are found by their names; the devices of this machine are all there.
std::string Traces(const VirtualCluster& cluster) {
  return RunShell("ls -d /run/" + cluster.name() + "* /run/netns/" + cluster.name() +
                  "* /etc/netns/" + cluster.name() + "* 2>/dev/null; grep " + cluster.name() +
                  " /proc/self/mounts; ip -o link | sed 's/ .*@/@/; s/state.*//'")
      .out;
}

// `rank host` of each of `ranks` ranks, sorted.
std::string Placement(const VirtualCluster& cluster, const std::string& options) {
  const Outcome outcome =
      cluster.Run(options, "sh -c " + Quoted("echo $OMPI_COMM_WORLD_RANK $(hostname)") + " | sort");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

TEST(VirtualClusterTest, RanksAreWhereTheyShouldBe) {
  const VirtualCluster cluster;
  if (!cluster.UpOrSkip("--racks 2 --hosts 2")) return;
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  EXPECT_EQ(Placement(cluster, ""), "0 r0h0\n1 r0h1\n2 r1h0\n3 r1h1\n");
  EXPECT_EQ(Placement(cluster, "-n 6"), "0 r0h0\n1 r0h0\n2 r0h1\n3 r0h1\n4 r1h0\n5 r1h1\n");
  EXPECT_EQ(Placement(cluster, "-n 6 --map-by cycle"),
            "0 r0h0\n1 r0h1\n2 r1h0\n3 r1h1\n4 r0h0\n5 r0h1\n");
  EXPECT_EQ(Placement(cluster, "-n 1"), "0 r0h0\n");
  EXPECT_EQ(Placement(cluster, "-n 3 --hosts r0h1,r1h1"), "0 r0h1\n1 r0h1\n2 r1h1\n");
}

TEST(VirtualClusterTest, RanksShareMemoryWithTheirHostOnly) {
  const VirtualCluster cluster;
  if (!cluster.UpOrSkip("--racks 1 --hosts 2 --host-rate 1gbit")) return;
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  const Outcome info = cluster.Run("-n 4", "$HOCKNEY info --json");
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const nlohmann::json facts = nlohmann::json::parse(info.out);
  ASSERT_EQ(facts["hosts"].size(), 2) << info.out;
  EXPECT_EQ(facts["hosts"][0]["name"], "r0h0");
  EXPECT_EQ(facts["hosts"][1]["name"], "r0h1");
  ASSERT_EQ(facts["ranks"].size(), 4) << info.out;
  for (const int rank : {0, 1, 2, 3}) EXPECT_EQ(facts["ranks"][rank]["host"], rank / 2);

  EXPECT_EQ(cluster.In("r0h0", "echo here >/dev/shm/file").exit_code, 0);
  EXPECT_EQ(cluster.In("r0h0", "cat /dev/shm/file").out, "here\n");
  EXPECT_NE(cluster.In("r0h1", "cat /dev/shm/file").exit_code, 0);
  const std::string ipc = "readlink /proc/self/ns/ipc";
  EXPECT_NE(cluster.In("r0h0", ipc).out, cluster.In("r0h1", ipc).out);
}

TEST(VirtualClusterTest, ProgramsLearnRacksAndRates) {
  const VirtualCluster cluster;
  if (!cluster.UpOrSkip("--racks 2 --hosts 1 --host-rate 1gbit --spine-rate=250mbit")) return;
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  const std::string words =
      "sh -c " + Quoted("echo $HOCKNEY_CLUSTER_FILE $HOCKNEY_SHAPING_FILE") + " | uniq";
  const std::string racks_file = cluster.folder() + "/cluster.json";
  const std::string rates_file = cluster.folder() + "/shaping.json";
  EXPECT_EQ(cluster.Run("", words).out, racks_file + " " + rates_file + "\n");
  EXPECT_EQ(ReadJson(racks_file), nlohmann::json::parse(R"({"racks": [
      {"name": "rack0", "hosts": ["r0h0"]}, {"name": "rack1", "hosts": ["r1h0"]}]})"));
  // 1e9 / 8 * 1448 / 1514, and a quarter of it.
  EXPECT_EQ(ReadJson(rates_file), nlohmann::json::parse(R"({"host_rate_bps": 1000000000,
      "spine_rate_bps": 250000000, "burst_bytes": 131072, "queue_bytes": 1000000, "goodput_Bps": 119550859,
      "spine_goodput_Bps": 29887715, "mtu": 1500})"));
}

TEST(VirtualClusterTest, EachDirectionOfEachLinkHasItsBucket) {
  const VirtualCluster cluster;
  if (!cluster.UpOrSkip("--racks 3 --hosts 1 --host-rate 1gbit --spine-rate 250mbit")) return;
  const std::string show = "qdisc show | grep '^qdisc tbf' | sort";
  const std::string host = RunShell("tc -n " + cluster.name() + "-r2h0 " + show).out;
  EXPECT_THAT(host,
              MatchesRegex("qdisc tbf .* dev eth0 root .* rate 1Gbit burst 131.* lat [67].*ms.*"));
  const std::string inside = RunShell("tc -n " + cluster.name() + "-switch " + show).out;
  EXPECT_EQ(CountLines(inside), 3 + 6) << inside;  // hosts, and racks twice
  for (const char* device : {"r0h0", "r1h0", "r2h0"}) {
    EXPECT_THAT(inside, HasSubstr(std::string("dev ") + device + " root"));
  }
  for (const char* device : {"rack0_up", "rack0_down", "rack2_up", "rack2_down"}) {
    EXPECT_THAT(inside, HasSubstr(std::string("dev ") + device + " root"));
  }
  const Outcome status = cluster.Status();
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out, AllOf(HasSubstr("r2h0   10.77.2.1 "), HasSubstr("rack2  -"),
                                HasSubstr("--host-rate 1gbit --spine-rate 250mbit")));
}

TEST(VirtualClusterTest, SettingsOfUcxAreTheUsersIfThereAreAny) {
  const VirtualCluster cluster;
  if (!cluster.UpOrSkip("--hosts 1")) return;
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  const std::string words = "sh -c " + Quoted("env | grep ^UCX_ | sort");
  EXPECT_EQ(cluster.Run("", words).out, "UCX_NET_DEVICES=eth0\nUCX_TLS=tcp\n");
  const Outcome own = RunShell("export UCX_LOG_LEVEL=error; " HOCKNEY_SOURCE
                               "/scripts/virtual_cluster run --name " +
                               cluster.name() + " -- " + words);
  EXPECT_EQ(own.out, "UCX_LOG_LEVEL=error\n");
}

TEST(VirtualClusterTest, UpTwiceChangesNothing) {
  const VirtualCluster cluster;
  if (!cluster.UpOrSkip("--hosts 2")) return;
  ASSERT_EQ(cluster.In("r0h1", "echo >/dev/shm/still_there").exit_code, 0);
  const Outcome again = cluster.Up("--racks 1");  // the same: two hosts are the default
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("is up already"));
  EXPECT_EQ(cluster.In("r0h1", "ls /dev/shm").out, "still_there\n");

  const Outcome other = cluster.Up("--racks 2");
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(cluster.In("r0h1", "ls /dev/shm").out, "");
  EXPECT_EQ(cluster.In("r1h1", "hostname").out, "r1h1\n");
}

TEST(VirtualClusterTest, DownLeavesNothing) {
  const VirtualCluster cluster;
  const std::string before = Traces(cluster);
  if (!cluster.UpOrSkip("--racks 2 --hosts 1 --host-rate 1gbit --spine-rate 250mbit")) return;
  EXPECT_NE(Traces(cluster), before);
  const std::string agent = HOCKNEY_SOURCE "/scripts/virtual_cluster_agent --name ";
  const Outcome ended = RunShell(
      agent + cluster.name() + " r1h0 'echo $$ >" + cluster.folder() +
      "/tmp/pid; exec sleep 300' >/dev/null 2>&1 & for try in $(seq 2000); do [ -s " +
      cluster.folder() + "/tmp/pid ] && break; sleep 0.005; done; pid=$(cat " + cluster.folder() +
      "/tmp/pid); kill -0 $pid && " HOCKNEY_SOURCE "/scripts/virtual_cluster down --name " +
      cluster.name() + " && ! kill -0 $pid 2>/dev/null");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Traces(cluster), before);
  const Outcome again = cluster.Down();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(cluster.Status().exit_code, 3);
}

TEST(VirtualClusterTest, DownRemovesWhatAKilledUpHasLeft) {
  const VirtualCluster cluster;
  const std::string before = Traces(cluster);
  if (!cluster.UpOrSkip("--hosts 1")) return;
  for (const char* made : {"switch", "r0h0", "r1h1"}) {
    ASSERT_EQ(cluster.Down().exit_code, 0);
    RunShell(HOCKNEY_SOURCE "/scripts/virtual_cluster up --racks 2 --name " + cluster.name() +
             " >/dev/null 2>&1 & for try in $(seq 4000); do [ -e /run/netns/" + cluster.name() +
             "-" + made + " ] && break; sleep 0.005; done; kill -9 $!; wait $!");
    EXPECT_NE(Traces(cluster), before);
    EXPECT_EQ(cluster.Status().exit_code, 3);  // it never was whole
    EXPECT_EQ(cluster.Down().exit_code, 0);
    EXPECT_EQ(Traces(cluster), before);
  }
}

TEST(VirtualClusterTest, RunEndsAsMpirunDoes) {
  const VirtualCluster cluster;
  if (!cluster.UpOrSkip("--hosts 2")) return;
  if (!RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed")) return;
  EXPECT_EQ(cluster.Run("", "true").exit_code, 0);
  EXPECT_EQ(cluster.Run("--mpirun '--tag-output'", "sh -c 'exit 9'").exit_code, 9);
}

TEST(VirtualClusterTest, SaysWhatIsMissing) {
  const VirtualCluster cluster;
  const Outcome run = cluster.Run("", "true");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err, "virtual_cluster: there is no cluster \"" + cluster.name() +
                         "\" (scripts/virtual_cluster up --name " + cluster.name() + ")\n");
  const Outcome agent = RunClusterAgent("--name " + cluster.name() + " r0h0 true");
  EXPECT_EQ(agent.exit_code, 3);
  EXPECT_THAT(agent.err, HasSubstr("there is no host \"r0h0\""));

  if (!cluster.UpOrSkip("")) return;
  const Outcome host = cluster.Run("--hosts r0h0,r5h5", "true");
  EXPECT_EQ(host.exit_code, 2);
  EXPECT_THAT(host.err, HasSubstr("--hosts: \"r5h5\""));
  const Outcome command = cluster.Run("", "no_such_command");
  EXPECT_EQ(command.exit_code, 3);
  EXPECT_THAT(command.err, HasSubstr("no_such_command: neither a command nor built"));
}

TEST(VirtualClusterTest, WithoutTheRightsItSaysSo) {
  const VirtualCluster cluster;
  const std::string up = HOCKNEY_SOURCE "/scripts/virtual_cluster up --name " + cluster.name();
  for (const char* missing : {"-sys_admin", "-net_admin"}) {
    const std::string without =
        getuid() == 0 ? std::string("setpriv --bounding-set=") + missing + " " : "";
    const Outcome outcome = RunShell(without + up);
    EXPECT_EQ(outcome.exit_code, 3) << missing;
    EXPECT_EQ(CountLines(outcome.err), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("virtual_cluster: "));
  }
}

TEST(VirtualClusterTest, BadOptionsAreNamed) {
  struct Case {
    const char* words;
    const char* named;
  };
  for (const Case& each : {
           Case{"sideways", "\"sideways\": expected up, run, status or down"},
           Case{"up --racks 0", "--racks: \"0\": expected a number from 1 to 64"},
           Case{"up --hosts two", "--hosts: \"two\": expected a number from 1 to 64"},
           Case{"up --hosts", "--hosts: expected a value"},
           Case{"up --host-rate 5", "--host-rate: \"5\": expected a rate"},
           Case{"up --spine-rate 10bit", "--spine-rate: \"10bit\": expected a rate"},
           Case{"up --speed 3", "\"--speed\": up has no such option"},
           Case{"up --name ../x", "--name: \"../x\": expected 1 to 24 letters and digits"},
           Case{"down --racks 1", "\"--racks\": down has no such option"},
           Case{"run -n 0 -- true", "-n: \"0\": expected a number"},
           Case{"run --map-by hand -- true", "--map-by: \"hand\": expected block or cycle"},
           Case{"run --mpi udp -- true", "--mpi: \"udp\": expected ob1 or ucx"},
           Case{"run true", "\"true\": run has no such option"},
           Case{"run -n 2", "expected -- COMMAND"},
       }) {
    const Outcome outcome = RunClusterScript(each.words);
    EXPECT_EQ(outcome.exit_code, 2) << each.words;
    EXPECT_EQ(CountLines(outcome.err), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(each.named));
  }
}

}  // namespace
}  // namespace hockney
