// hockney info: the levels between ranks, with files that say more, and on several hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/run_program.h"
#include "tests/requirements.h"
#include "tests/scratch_folder.h"
#include "tests/test_data.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

using ::testing::AllOf;
using testing::CountLines;
using testing::DataPath;
using ::testing::HasSubstr;
using testing::MpirunWords;
using testing::Outcome;
using testing::RunProgram;
using testing::RunShell;
using testing::ScratchFolder;

TEST(InfoTopologyTest, LocalRanksAreOneNode) {
  const Outcome run = RunProgram("info --local 3");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("threads on 1 host(s), ranks per host 3, "),
                             HasSubstr("  node "), HasSubstr("levels between ranks: = self, "),
                             HasSubstr("rank  to each rank\n")));
}

TEST(InfoTopologyTest, JsonHoldsTheMatrix) {
  const Outcome run = RunProgram("info --local 2 --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("ranks_per_host"), (std::vector<int>{2}));
  const auto& topology = json.at("topology");
  const auto& matrix = topology.at("matrix");
  EXPECT_EQ(matrix.at("between"), "ranks");
  EXPECT_EQ(matrix.at("legend").at("f"), "fabric");
  const std::string row = matrix.at("rows").at(1);
  ASSERT_EQ(row.size(), 2U);
  EXPECT_EQ(row[1], '=');
  EXPECT_NE(std::string("cun").find(row[0]), std::string::npos) << row;
  EXPECT_EQ(topology.at("hosts").at(0).at("name"), json.at("hosts").at(0).at("name"));
  EXPECT_TRUE(json.at("gpu_files").is_null());
}

TEST(InfoTopologyTest, AClusterFilePlacesThisHost) {
  const ScratchFolder folder;
  const std::string host = RunShell("hostname | tr -d '\\n'").out;
  std::ofstream(folder.Path("c.json"))
      << R"({"racks":[{"name":"left","hosts":[")" << host << R"("]}]})";
  std::ofstream(folder.Path("t.conf")) << "SwitchName=leaf7 Nodes=" << host << "\n";
  EXPECT_THAT(RunProgram("info --local 1 --cluster-file " + folder.Path("c.json")).out,
              HasSubstr("rack left\n"));
  EXPECT_THAT(
      RunShell("HOCKNEY_CLUSTER_FILE=" + folder.Path("c.json") + " $HOCKNEY info --local 1").out,
      HasSubstr("rack left\n"));
  EXPECT_THAT(RunProgram("info --local 1 --slurm-topology " + folder.Path("t.conf")).out,
              HasSubstr("rack leaf7\n"));
  EXPECT_THAT(RunShell("SLURM_TOPOLOGY_ADDR=top.leaf3." + host +
                       " SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node $HOCKNEY info --local 1")
                  .out,
              AllOf(HasSubstr("racks by SLURM_TOPOLOGY_ADDR"), HasSubstr("pod top\n"),
                    HasSubstr("rack leaf3\n")));
}

// Hosts of this machine with names of their own, made by mpirun's launch agent: MPI takes them for
// different ones, the kernel is the same.
class TwoHostsTest : public ::testing::Test {
 protected:
  TwoHostsTest() {
    std::ofstream(agent()) << "#!/bin/sh\nhost=$1\nshift\n"
                              "exec unshare --uts sh -c \"hostname $host && $*\"\n";
    std::filesystem::permissions(agent(), std::filesystem::perms::owner_all);
  }

  bool CanRun() {
    return RequireOrSkip("mpi", testing::HasMpirun(), "mpirun is not installed") &&
           RequireOrSkip("namespaces",
                         RunShell("unshare --uts hostname hockney-test").exit_code == 0,
                         "no host name of its own can be given");
  }

  // `hosts` as in mpirun's --host.
  Outcome Run(int ranks, const std::string& hosts, const std::string& words) {
    return RunShell(MpirunWords(ranks) + "--host " + hosts + " --mca plm_rsh_agent " + agent() +
                    " --mca rtc ^hwloc --bind-to none --mca oob_tcp_if_include lo --mca pml ob1 "
                    "--mca btl self,vader,tcp --mca btl_tcp_if_include lo $HOCKNEY " +
                    words);
  }

  std::string agent() const { return folder_.Path("agent"); }
  ScratchFolder folder_;
};

TEST_F(TwoHostsTest, InfoShowsHostsRacksAndThatTheyShareAKernel) {
  if (!CanRun()) return;
  std::ofstream(folder_.Path("c.json"))
      << R"({"racks":[{"name":"r0","hosts":["ha"]},{"name":"r1","hosts":["hb"]}],)"
      << R"("pods":[{"name":"p","racks":["r0","r1"]}]})";
  const Outcome run = Run(3, "ha:2,hb:1", "info --cluster-file " + folder_.Path("c.json"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("ranks 3: processes on 2 host(s), ranks per host 2,1, "),
                    HasSubstr("several hosts run on one kernel (equal boot ids)"),
                    HasSubstr("  fabric\n    pod p\n      rack r0\n        node ha: "),
                    HasSubstr("      rack r1\n        node hb: "), HasSubstr("   2  pp=\n"),
                    HasSubstr("\nhost ha\n"), HasSubstr("\nhost hb\n")));
}

TEST_F(TwoHostsTest, B44RanksPerHostAreAListAndCoresAreCountedAKernel) {
  if (!CanRun()) return;
  const Outcome run = Run(7, "ha:1,hb:1,hc:5", "info --json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("ranks_per_host"), (std::vector<int>{1, 1, 5}));
  EXPECT_EQ(json.at("topology").at("ranks_per_host"), (std::vector<int>{1, 1, 5}));
  EXPECT_EQ(json.at("topology").at("pairs").at("fabric"), 11);
  ASSERT_EQ(json.at("hosts").size(), 3);
  EXPECT_EQ(json.at("hosts").at(2).at("name"), "hc");
  EXPECT_FALSE(json.at("hosts").at(2).at("measured").at("copy_ranks").is_null());
  const auto cpus = ParseCpuList(json.at("hosts").at(0).at("cpu_list_allowed").get<std::string>());
  for (const auto& rank : json.at("ranks")) {
    EXPECT_EQ(rank.at("pinned_by"), "none");
    EXPECT_EQ(rank.at("shared_kernel"), true);
    EXPECT_EQ(rank.at("oversubscribed"), cpus.value().size() < 7);
  }
}

constexpr const char* kRules =
    "allreduce,0,65536,ring,ll,-1,1,8\nallreduce,65537,1048576,nvls,simple,-1,1,8\n";

TEST(InfoTunerTest, EqualRulesAreCountedAndHashed) {
  const ScratchFolder folder;
  std::ofstream(folder.Path("r.csv")) << kRules;
  const std::string expected = "NCCL's rules: " + folder.Path("r.csv") + ", hash ";
  const Outcome run = RunProgram("info --local 2 --check-tuner " + folder.Path("r.csv"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr(expected), HasSubstr(", 2 rules: the same for 2 ranks on 1 "
                                                            "hosts\n")));
  EXPECT_EQ(CountLines(run.out), 1U);
  const Outcome by_environment = RunShell("NCCL_TUNER_CONFIG_FILE=" + folder.Path("r.csv") +
                                          " $HOCKNEY info --local 2 --check-tuner");
  EXPECT_EQ(by_environment.out, run.out) << by_environment.err;
}

TEST(InfoTunerTest, RulesThatNobodyCanReadEndWithExitTwoAndOneLine) {
  const ScratchFolder folder;
  std::ofstream(folder.Path("bad")) << "allreduce,1-a,8,ring,ll,-1,1,8\n";
  struct Case {
    std::string words;
    std::string expected;
  };
  for (const Case& each :
       {Case{folder.Path("bad"), "bad:1:11: \"1-a\": expected a whole number of bytes"},
        Case{folder.Path("none"), "none: cannot be read: No such file"},
        Case{"", "NCCL_TUNER_CONFIG_FILE is not set: expected the path of a rule file"}}) {
    const Outcome run = RunShell(
        "unset NCCL_TUNER_CONFIG_FILE; $HOCKNEY info --local 2 "
        "--check-tuner " +
        each.words);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(CountLines(run.err), 1U) << run.err;
    EXPECT_THAT(run.err, HasSubstr(each.expected));
  }
}

TEST_F(TwoHostsTest, InfoNamesHostsWhoseTunerRulesDiffer) {
  if (!CanRun()) return;
  std::ofstream(folder_.Path("rules_ha")) << kRules;
  std::ofstream(folder_.Path("rules_hb")) << kRules << "# another line\n";
  std::ofstream(folder_.Path("by_host"))
      << "#!/bin/sh\nexport NCCL_TUNER_CONFIG_FILE=" << folder_.Path("rules_") << "$(hostname)\n"
      << "exec \"$@\"\n";
  std::filesystem::permissions(folder_.Path("by_host"), std::filesystem::perms::owner_all);
  const auto run = [&] {
    return RunShell(MpirunWords(3) + "--host ha:2,hb:1 --mca plm_rsh_agent " + agent() +
                    " --mca rtc ^hwloc --bind-to none --mca oob_tcp_if_include lo --mca pml ob1 "
                    "--mca btl self,vader,tcp --mca btl_tcp_if_include lo " +
                    folder_.Path("by_host") + " $HOCKNEY info --check-tuner");
  };
  const Outcome differ = run();
  EXPECT_EQ(differ.exit_code, 3) << differ.err;
  EXPECT_THAT(differ.err, AllOf(HasSubstr("NCCL's rules differ between ranks"),
                                HasSubstr(" (2 rules) on ha; hash "), HasSubstr(" on hb\n")));
  std::filesystem::remove(folder_.Path("rules_hb"));
  EXPECT_THAT(run().err, HasSubstr(" (2 rules) on ha; " + folder_.Path("rules_hb") +
                                   ": cannot be read: No such file or directory on hb\n"));
}

TEST(InfoTopologyTest, BadFilesEndWithExitTwoAndOneLine) {
  const ScratchFolder folder;
  std::ofstream(folder.Path("bad")) << "{\"racks\": 1}";
  const std::string bad = folder.Path("bad");
  struct Case {
    std::string words;
    std::string expected;
  };
  for (const Case& each :
       {Case{"--cluster-file " + bad, "bad: racks: 1: expected an array"},
        Case{"--slurm-topology " + bad, "bad:1:1: \"{\"racks\":\": expected key=value"},
        Case{"--nccl-topo " + bad, "bad:1:"},
        Case{"--cluster-file " + folder.Path("none"), "none: cannot be read: No such file"},
        Case{"--nvidia-topo " + folder.Path("none"), "none: cannot be read: No such file"},
        Case{"--cluster-file a --slurm-topology b", "--slurm-topology: \"b\": expected no"}}) {
    const Outcome run = RunProgram("info --local 2 " + each.words);
    EXPECT_EQ(run.exit_code, 2) << each.words;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(CountLines(run.err), 1U) << run.err;
    EXPECT_THAT(run.err, HasSubstr(each.expected));
  }
}

TEST(PublicCaseTest, B53InfoShowsWhatNvidiaSmiPrinted) {
  const Outcome run =
      RunProgram("info --local 1 --nvidia-topo " + DataPath("topo-m-8gpu-nvswitch-5nic.txt") +
                 " --nccl-topo " + DataPath("nccl-topo-8xMI300X-xgmi.xml"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("\nGPU6  vvvvvv=v  ssbps       1  48-95,144-191  NIC3 "
                                       "ibp195s0 (PIX)\n"),
                             HasSubstr("nvlink (NV18)"), HasSubstr("nvlink (XGMI)"),
                             HasSubstr("NIC7 mlx5_7 (PXB)\n")));
}

TEST(PublicCaseTest, B53InfoGoesOnWhereNvidiaSmiFailed) {
  const ScratchFolder folder;
  std::ofstream(folder.Path("topo.txt")) << "Failed to get topology information: Unknown Error\n";
  const std::string words = "info --local 1 --nvidia-topo " + folder.Path("topo.txt");
  const Outcome text = RunProgram(words);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("topology not known: no matrix of GPUs in "));
  const auto json = nlohmann::json::parse(RunProgram(words + " --json").out);
  const std::string why = json.at("gpu_files").at(0).at("unknown_because");
  EXPECT_THAT(why, HasSubstr("\"Failed to get topology information: Unknown Error\""));
}

}  // namespace
}  // namespace hockney
