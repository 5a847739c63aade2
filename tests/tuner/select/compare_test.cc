#include "tuner/select/compare.h"

#include <gtest/gtest.h>

#include "tests/tuner/select/made_up_rows.h"
#include "tuner/select/fixed_table.h"

namespace hockney {
namespace {

using testing::MadeUpRow;
using testing::TableOf;

struct Pair {
  CellTimes cell;
  Choice a;
  Choice b;
};

// Launch k of choice a takes a[k], of b takes b[k] us; b begins at launch `b_from`.
Pair Made(const std::vector<double>& a, const std::vector<double>& b, int b_from = 0) {
  std::vector<SweepRow> rows;
  for (std::size_t k = 0; k < a.size(); ++k) {
    rows.push_back(MadeUpRow("ring", 64, a[k], static_cast<std::int64_t>(k)));
  }
  for (std::size_t k = 0; k < b.size(); ++k) {
    rows.push_back(MadeUpRow("one_shot", 64, b[k], b_from + static_cast<std::int64_t>(k)));
  }
  return {TableOf(rows).cells.at(64), ChoiceOf(MadeUpRow("ring", 64, 1)),
          ChoiceOf(MadeUpRow("one_shot", 64, 1))};
}

TEST(CompareTest, LaunchesArePairedSoThatSlowOnesDoNotHideADifference) {
  const Pair pair = Made({11, 110, 33, 22, 55}, {10, 100, 30, 20, 50});
  const Comparison found = Compare(pair.cell, pair.a, pair.b);
  EXPECT_NEAR(found.ratio, 1.1, 1e-12);
  EXPECT_TRUE(found.beyond_noise);
  EXPECT_FALSE(Compare(pair.cell, pair.b, pair.a).beyond_noise) << "the faster one";
}

TEST(CompareTest, WhatDependsOnTheLaunchIsNoise) {
  const Pair pair = Made({11, 9, 11, 9, 12}, {10, 10, 10, 10, 10});
  EXPECT_FALSE(Compare(pair.cell, pair.a, pair.b).beyond_noise);
}

TEST(CompareTest, FewLaunchesMustAllAgree) {
  const Pair agree = Made({11, 12}, {10, 10});
  EXPECT_TRUE(Compare(agree.cell, agree.a, agree.b).beyond_noise);
  const Pair differ = Made({11, 9}, {10, 10});
  EXPECT_FALSE(Compare(differ.cell, differ.a, differ.b).beyond_noise);
}

TEST(CompareTest, LaunchesOfDifferentRunsAreRanked) {
  const Pair apart = Made({11, 12, 13, 14}, {7, 8, 9, 10}, 4);
  const Comparison found = Compare(apart.cell, apart.a, apart.b);
  EXPECT_TRUE(found.beyond_noise);
  EXPECT_NEAR(found.ratio, 12.5 / 8.5, 1e-12);
  EXPECT_FALSE(Compare(apart.cell, apart.b, apart.a).beyond_noise);
  const Pair mixed = Made({8, 12, 9, 14}, {7, 13, 9, 10}, 4);
  EXPECT_FALSE(Compare(mixed.cell, mixed.a, mixed.b).beyond_noise);
}

TEST(ChoiceTest, SimplicityIsALibraryThenFlatThenPlain) {
  Choice mpi{.implementation = "mpi", .algorithm = "default"};
  Choice ring = ChoiceOf(MadeUpRow("ring", 64, 1));
  Choice lanes = ring;
  lanes.lanes = 8;
  Choice packets = ring;
  packets.protocol = "ll";
  Choice levels = ring;
  levels.algorithm = "hierarchical(direct,ring)";
  const std::vector<Choice> order = {mpi, ring, lanes, packets, levels};
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    EXPECT_TRUE(IsSimpler(order[i], order[i + 1])) << i;
    EXPECT_FALSE(IsSimpler(order[i + 1], order[i])) << i;
  }
  EXPECT_FALSE(IsSimpler(ring, ring));
  EXPECT_EQ(Describe(lanes), "ring x8");
  EXPECT_EQ(Describe(mpi), "mpi");
  SweepRow segmented = testing::MadeUpMpiRow(64, 1);
  segmented.algorithm = "chain";
  segmented.parameters = "faninout=4;library=Open MPI 4.1.4;segsize=65536";
  EXPECT_EQ(ChoiceOf(segmented).parameters, segmented.parameters);
  EXPECT_EQ(Describe(ChoiceOf(segmented)), "mpi chain faninout=4 segsize=65536");
  EXPECT_EQ(ring.parameters, "store=cached") << "pieces, slots and slices follow from the size";
  EXPECT_EQ(WithSlices(ring, "4").parameters, "slices=4;store=cached");
  EXPECT_EQ(WithSlices(mpi, "4").parameters, "slices=4");
  EXPECT_TRUE(SameSchedule(ring, lanes));
  EXPECT_FALSE(SameSchedule(ring, packets));
}

TEST(FixedTableTest, ThresholdsAndWhatStandsInForWhatWasNotMeasured) {
  const CellTimes cell =
      TableOf({MadeUpRow("ring", 64, 1), MadeUpRow("recursive_doubling", 64, 2)}).cells.at(64);
  EXPECT_EQ(FixedChoice(Collective::kAllReduce, 9999, cell)->algorithm, "recursive_doubling");
  EXPECT_EQ(FixedChoice(Collective::kAllReduce, 10000, cell)->algorithm, "ring");
  EXPECT_EQ(FixedChoice(Collective::kBroadcast, 64, cell)->algorithm, "ring");
  EXPECT_FALSE(FixedChoice(Collective::kAllToAll, 64, cell).has_value());
  EXPECT_FALSE(PlainChoice(cell, "bruck").has_value());
}

}  // namespace
}  // namespace hockney
