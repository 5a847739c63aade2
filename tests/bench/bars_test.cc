#include "bench/bars.h"

#include <gtest/gtest.h>

namespace hockney {
namespace {

SweepRow MakeRow(std::int64_t launch, const std::string& implementation, double time_us) {
  SweepRow row;
  row.launch = launch;
  row.collective = Collective::kAllReduce;
  row.implementation = implementation;
  row.algorithm = implementation == "mpi" ? "default" : "two_shot";
  row.protocol = "simple";
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

std::vector<SweepRow> MakeLaunches(int launches, double ours, double mpi) {
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < launches; ++launch) {
    rows.push_back(MakeRow(launch, "hockney", ours));
    rows.push_back(MakeRow(launch, "mpi", mpi));
  }
  return rows;
}

TEST(HostBarsTest, SpeedIsTheRatioOfMediansAndMeetsItsBar) {
  const auto results = JudgeHostBars(MakeLaunches(10, 2, 5), 5, nullptr);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_DOUBLE_EQ(results[0].value, 2.5);
  EXPECT_EQ(results[0].launches, 5U);
  EXPECT_DOUBLE_EQ(results[0].bar, 2.4);
  EXPECT_TRUE(results[0].met());
}

TEST(HostBarsTest, ASlowerResultMissesItsBar) {
  const auto results = JudgeHostBars(MakeLaunches(10, 2.5, 5), 5, nullptr);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_FALSE(results[0].met());
}

TEST(HostBarsTest, ARowThatIsLuckyOnlyWhereItIsChosenIsReportedAsItIs) {
  std::vector<SweepRow> rows = MakeLaunches(10, 2, 5);
  for (int launch = 0; launch < 10; ++launch) {
    SweepRow lucky = MakeRow(launch, "hockney", launch % 2 == 0 ? 1 : 4);
    lucky.algorithm = "ring";
    rows.push_back(lucky);
  }
  const auto results = JudgeHostBars(rows, 5, nullptr);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].choice.substr(0, 4), "ring");
  EXPECT_DOUBLE_EQ(results[0].value, 1.25);
}

TEST(HostBarsTest, TooFewLaunchesAreLeftOutWithANote) {
  std::vector<std::string> notes;
  EXPECT_TRUE(JudgeHostBars(MakeLaunches(9, 2, 5), 5, &notes).empty());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("4 launches"), std::string::npos) << notes[0];
}

TEST(HostBarsTest, RowsThatFailedOrHadHotBuffersDoNotCount) {
  std::vector<SweepRow> rows = MakeLaunches(10, 2, 5);
  for (SweepRow& row : rows) {
    if (row.launch < 5) row.status = Status::kWrongData;
    if (row.launch >= 5) row.buffers = "hot";
  }
  EXPECT_TRUE(JudgeHostBars(rows, 1, nullptr).empty());
}

TEST(HostBarsTest, NotSlowerIsMetWhenTheIntervalReachesOne) {
  std::vector<SweepRow> rows;
  for (int launch = 0; launch < 10; ++launch) {
    for (SweepRow row :
         {MakeRow(launch, "hockney", 1), MakeRow(launch, "mpi", launch < 4 ? 1.1 : 0.95)}) {
      row.size_bytes = 8;
      rows.push_back(row);
    }
  }
  const auto results = JudgeHostBars(rows, 5, nullptr);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_LT(results[0].value, 1);
  EXPECT_GE(results[0].interval.high, 1);
  EXPECT_TRUE(results[0].met());
}

// Launches of a run between hosts: our row, with its share of the link, and MPI's.
std::vector<SweepRow> MakeNetworkLaunches(std::int64_t ranks, const std::string& algorithm,
                                          double ours, double mpi, double share) {
  std::vector<SweepRow> rows = MakeLaunches(10, ours, mpi);
  for (SweepRow& row : rows) {
    row.ranks = ranks;
    row.nodes = 2;
    row.mode = "streamed";
    row.size_bytes = 1 << 20;
    if (row.implementation == "mpi") continue;
    row.algorithm = algorithm;
    row.parameters = "inter=ring;intra=direct;store=cached";
    row.bound_fraction = share;
  }
  return rows;
}

TEST(NetworkBarsTest, TwoHostsAreHeldToTheLinkAndToMpi) {
  const auto results =
      JudgeNetworkBars("run", MakeNetworkLaunches(2, "ring", 10, 11, 0.98), 5, nullptr);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_DOUBLE_EQ(results[0].value, 0.98);
  EXPECT_DOUBLE_EQ(results[0].bar, 0.97);
  EXPECT_TRUE(results[0].met());
  EXPECT_DOUBLE_EQ(results[1].value, 1.1);
  EXPECT_FALSE(
      JudgeNetworkBars("run", MakeNetworkLaunches(2, "ring", 10, 11, 0.96), 5, nullptr)[0].met());
  EXPECT_FALSE(
      JudgeNetworkBars("run", MakeNetworkLaunches(2, "ring", 12, 11, 0.98), 5, nullptr)[1].met());
}

TEST(NetworkBarsTest, FourRanksAreJudgedByTheHierarchyBesideTheRing) {
  std::vector<SweepRow> rows = MakeNetworkLaunches(4, "hierarchical", 10, 11, 0.96);
  for (const SweepRow& row : MakeNetworkLaunches(4, "ring", 9, 11, 1)) {
    if (row.implementation != "mpi") rows.push_back(row);
  }
  const auto results = JudgeNetworkBars("run", rows, 5, nullptr);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].choice.starts_with("hierarchical(direct,ring)")) << results[0].choice;
  EXPECT_TRUE(results[0].met());
  EXPECT_DOUBLE_EQ(results[2].value, 0.9);  // of the ring's speed
  EXPECT_FALSE(results[2].met());
}

TEST(NetworkBarsTest, HostBarsLeaveThemAlone) {
  EXPECT_TRUE(JudgeHostBars(MakeNetworkLaunches(2, "ring", 10, 11, 0.98), 5, nullptr).empty());
}

}  // namespace
}  // namespace hockney
