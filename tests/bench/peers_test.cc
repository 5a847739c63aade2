#include "bench/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "bench/read_peer.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SweepRow MakeRow(std::int64_t launch, const std::string& algorithm, double time_us) {
  SweepRow row;
  row.launch = launch;
  row.collective = Collective::kAllReduce;
  row.implementation = algorithm == "default" ? "mpi" : "hockney";
  row.algorithm = algorithm;
  row.protocol = "simple";
  row.lanes = 1;
  row.parameters = "pieces=1;store=cached";
  row.mode = "isolated";
  row.buffers = "refreshed";
  row.dtype = DataType::kFloat32;
  row.op = ReduceOp::kSum;
  row.ranks = 2;
  row.size_bytes = 8192;
  row.in_place = false;
  row.oversubscribed = false;
  row.time_us_median = time_us;
  return row;
}

// One size: two_shot takes 2, ring 4 and MPI `mpi` microseconds.
Peer MakePeer(const std::string& name, int launches, double mpi) {
  Peer peer{.name = name, .library = "Some MPI 1.0", .ranks = "2 on CPUs 0 and 1"};
  for (int launch = 0; launch < launches; ++launch) {
    peer.rows.push_back(MakeRow(launch, "two_shot", 2));
    peer.rows.push_back(MakeRow(launch, "ring", 4));
    peer.rows.push_back(MakeRow(launch, "default", mpi));
  }
  return peer;
}

// The lines of the report, runs of blanks made one.
std::vector<std::string> Lines(const PeerReport& report) {
  std::vector<std::string> lines;
  std::istringstream text(report.text);
  for (std::string line; std::getline(text, line);) {
    const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
    line.erase(std::unique(line.begin(), line.end(), both_blank), line.end());
    lines.push_back(line);
  }
  return lines;
}

TEST(PeerReportTest, BestAndEachAlgorithmStandAgainstEachPeer) {
  const std::vector<Peer> peers = {MakePeer("a", 10, 5), MakePeer("b", 10, 3)};
  const PeerReport report = ReportPeers(peers);
  EXPECT_EQ(report.peers_compared, 2U);
  const auto lines = Lines(report);
  EXPECT_THAT(lines, Contains("| a | Some MPI 1.0 | - | - | 2 on CPUs 0 and 1 | 10 |"));
  EXPECT_THAT(lines, Contains("| 8K | a | two_shot simple x1 cached | 2.50 | 2.50..2.50 | - | - | "
                              "- | 5 |"));
  EXPECT_THAT(lines, Contains("| 8K | b | two_shot simple x1 cached | 1.50 | 1.50..1.50 | - | - | "
                              "- | 5 |"));
  EXPECT_THAT(lines, Contains("| size | algorithm | a | b |"));
  EXPECT_THAT(lines, Contains("| 8K | ring | 1.25 (1.25..1.25) | 0.75 (0.75..0.75) |"));
  EXPECT_THAT(report.text, Not(HasSubstr("not of 95 %")));
}

TEST(PeerReportTest, TheChoiceIsMadeOnEvenLaunchesAndReportedOnOddOnes) {
  Peer peer = MakePeer("a", 10, 5);
  for (int launch = 0; launch < 10; ++launch) {
    peer.rows.push_back(MakeRow(launch, "lucky", launch % 2 == 0 ? 1 : 10));
  }
  EXPECT_THAT(Lines(ReportPeers({&peer, 1})),
              Contains("| 8K | a | lucky simple x1 cached | 0.50 | 0.50..0.50 | - | - | - | 5 |"));
}

TEST(PeerReportTest, SharesOfTheRooflineAreThoseOfTheReportedLaunches) {
  Peer peer = MakePeer("a", 10, 5);
  for (SweepRow& row : peer.rows) {
    const double share = row.implementation == "mpi" ? 0.25 : 0.75;
    row.bound_fraction = row.launch % 2 == 1 ? share : 0.125;
  }
  EXPECT_THAT(Lines(ReportPeers({&peer, 1})),
              Contains("| 8K | a | two_shot simple x1 cached | 2.50 | 2.50..2.50 | 0.75 | "
                       "0.75..0.75 | 0.25 | 5 |"));
}

TEST(PeerReportTest, AMissingPeerIsThereWithItsReason) {
  const std::vector<Peer> peers = {MakePeer("a", 10, 5), {.name = "b"}, [] {
                                     Peer peer{.name = "c"};
                                     peer.problems = {"MPICH is not installed"};
                                     return peer;
                                   }()};
  const PeerReport report = ReportPeers(peers);
  EXPECT_EQ(report.peers_compared, 1U);
  const auto lines = Lines(report);
  EXPECT_THAT(lines, Contains("| b | not run: no run folder | - | - | - | 0 |"));
  EXPECT_THAT(lines, Contains("| c | not run: MPICH is not installed | - | - | - | 0 |"));
  EXPECT_THAT(lines, Contains("| size | algorithm | a |"));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("- c: "))));
}

TEST(PeerReportTest, OneLaunchIsNotCompared) {
  const Peer peer = MakePeer("a", 1, 5);
  const PeerReport report = ReportPeers({&peer, 1});
  EXPECT_EQ(report.peers_compared, 0U);
  EXPECT_THAT(Lines(report),
              Contains("| a | not compared: 1 launch, expected at least 2: one to choose on and "
                       "one to report | - | - | 2 on CPUs 0 and 1 | 1 |"));
  EXPECT_THAT(report.text, Not(HasSubstr("##")));
}

TEST(PeerReportTest, FewLaunchesAreReportedWithAWarning) {
  const Peer peer = MakePeer("a", 2, 5);
  const auto lines = Lines(ReportPeers({&peer, 1}));
  EXPECT_THAT(lines, Contains("| 8K | a | two_shot simple x1 cached | 2.50 | 2.50..2.50 | - | - | "
                              "- | 1 |"));
  EXPECT_THAT(lines, Contains("- intervals of fewer than 5 launches are not of 95 %"));
}

TEST(PeerReportTest, RowsAndLaunchesThatFailedAreNamed) {
  Peer peer = MakePeer("a", 10, 5);
  peer.problems = {"launch 3: exit code 4"};
  peer.rows[4].status = Status::kFailed;  // ring of launch 1
  peer.rows[4].reason = "too fast";
  const auto lines = Lines(ReportPeers({&peer, 1}));
  EXPECT_THAT(lines, Contains("- a: launch 3: exit code 4"));
  EXPECT_THAT(lines, Contains("- a: 1 of 30 rows left out, first hockney ring at 8K in launch 1: "
                              "failed: too fast"));
}

TEST(PeerReportTest, ASizeWithoutMpiInTheReportedLaunchesIsLeftOutWithANote) {
  Peer peer = MakePeer("a", 10, 5);
  for (SweepRow& row : peer.rows) {
    if (row.implementation == "mpi" && row.launch % 2 == 1) row.status = Status::kSkipped;
  }
  EXPECT_THAT(Lines(ReportPeers({&peer, 1})),
              Contains("- a, 8K: left out, no launch to choose on or to report"));
}

TEST(PeerReportTest, RowsOfOtherCallsAreNotCompared) {
  Peer peer = MakePeer("a", 10, 5);
  for (SweepRow& row : peer.rows) row.in_place = true;
  const PeerReport report = ReportPeers({&peer, 1});
  EXPECT_EQ(report.peers_compared, 0U);
  EXPECT_THAT(report.text, HasSubstr("not compared: no all_reduce out of place"));
}

class ReadPeerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "mpich");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / "mpich" / name) << text;
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           (std::string("hockney_peers_") +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ReadPeerTest, TellsTheSettingFromRunJson) {
  RunFolder::Append(folder_ / "mpich").AppendSweep(MakeRow(0, "ring", 4), {});
  Write("run.json", R"({"versions": {"hockney": "9.9", "mpi": "MPICH 4.0.2", "compiler": "gcc",
    "build_type": "Release", "kernels": "AVX2"},
    "environment": {"OMPI_MCA_ess": "pmi", "MPIR_CVAR_X": "1", "UCX_TLS": "all"},
    "ranks": [{"cpus": "0", "pinned_by": "launcher"}, {"cpus": "1", "pinned_by": "launcher"}],
    "page_kib": 4.0, "last_level_cache": {"bytes": 67108864},
    "mpi_module": "device=ch4:ucx", "mpi_single_copy": null})");
  Peer peer = ReadPeer(folder_, "mpich");
  EXPECT_EQ(peer.name, "mpich");
  EXPECT_EQ(peer.library, "MPICH 4.0.2");
  EXPECT_EQ(peer.asked_for, "MPIR_CVAR_X=1 UCX_TLS=all");
  EXPECT_EQ(peer.transport, "device=ch4:ucx, single copy unknown");
  EXPECT_EQ(peer.ranks, "2 on CPUs 0 and 1, pinned by launcher");
  EXPECT_THAT(peer.machine, HasSubstr("hockney 9.9, gcc, Release, kernels AVX2; unknown cores"));
  EXPECT_THAT(peer.machine, HasSubstr("pages of 4 KiB, last-level cache taken as 64M bytes"));
  EXPECT_EQ(peer.rows.size(), 1U);
  Write("ucx.txt", "sysv/memory cma/memory\n");
  EXPECT_EQ(ReadPeer(folder_, "mpich").transport,
            "device=ch4:ucx, UCX over sysv/memory cma/memory");
}

TEST_F(ReadPeerTest, AFolderWithoutRowsKeepsItsProblems) {
  Write("problems.txt", "mpicc.mpich is not there\n\nlaunch 2: exit code 4\n");
  const Peer peer = ReadPeer(folder_, "mpich");
  EXPECT_THAT(peer.rows, IsEmpty());
  EXPECT_THAT(peer.problems, ElementsAre("mpicc.mpich is not there", "launch 2: exit code 4"));
  EXPECT_THAT(ReadPeer(folder_, "open_mpi_ring").problems, IsEmpty());
}

TEST_F(ReadPeerTest, ABrokenRunJsonIsRefusedWithItsPlace) {
  RunFolder::Append(folder_ / "mpich").AppendSweep(MakeRow(0, "ring", 4), {});
  Write("run.json", "{\n  \"ranks\": oops\n}\n");
  try {
    ReadPeer(folder_, "mpich");
    FAIL() << "not refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("run.json:2:12: expected JSON"));
  }
}

}  // namespace
}  // namespace hockney
