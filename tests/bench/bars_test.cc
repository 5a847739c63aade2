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

}  // namespace
}  // namespace hockney
