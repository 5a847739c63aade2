#include "collectives/baselines/mpi/mpi_algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace hockney {
namespace {

using ::testing::HasSubstr;

std::string Why(Collective collective, const std::string& name, int ranks, std::uint64_t count,
                int segment_bytes = 0) {
  return WhyOpenMpiRunsAnother(
      {.collective = collective, .ranks = ranks, .count = count, .segment_bytes = segment_bytes},
      name);
}

TEST(MpiAlgorithmsTest, NamesAndNumbersAreUniqueWithinACollective) {
  std::set<std::tuple<MpiFamily, Collective, std::string_view>> names;
  std::set<std::pair<Collective, int>> numbers;
  for (const MpiAlgorithm& algorithm : AllMpiAlgorithms()) {
    EXPECT_TRUE(names.insert({algorithm.family, algorithm.collective, algorithm.name}).second)
        << algorithm.name;
    EXPECT_EQ(algorithm.family == MpiFamily::kOpenMpi, algorithm.id > 0) << algorithm.name;
    if (algorithm.id == 0) continue;
    EXPECT_TRUE(numbers.insert({algorithm.collective, algorithm.id}).second) << algorithm.name;
  }
  EXPECT_EQ(OpenMpiId(Collective::kAllReduce, "rabenseifner"), 6);
  EXPECT_EQ(OpenMpiId(Collective::kAllReduce, "smp"), std::nullopt) << "MPICH's";
}

TEST(MpiAlgorithmsTest, LibrariesAreToldApartByTheirNames) {
  EXPECT_EQ(FamilyOf("Open MPI 4.1.4"), MpiFamily::kOpenMpi);
  EXPECT_EQ(FamilyOf("MPICH 4.0.2"), MpiFamily::kMpich);
  EXPECT_EQ(FamilyOf("Intel(R) MPI Library"), MpiFamily::kOther);
  EXPECT_EQ(FamilyOf(""), MpiFamily::kOther);
}

// B36: what would run under another algorithm's name.
TEST(MpiAlgorithmsTest, WhatOpenMpiReplacesInSilenceIsNamed) {
  EXPECT_EQ(Why(Collective::kAllReduce, "ring", 4, 4), "");
  EXPECT_THAT(Why(Collective::kAllReduce, "ring", 4, 3), HasSubstr("runs recursive_doubling"));
  EXPECT_EQ(Why(Collective::kAllReduce, "rabenseifner", 7, 4), "");
  EXPECT_THAT(Why(Collective::kAllReduce, "rabenseifner", 7, 3), HasSubstr("runs basic_linear"));
  EXPECT_THAT(Why(Collective::kAllReduce, "segmented_ring", 4, 1 << 20), HasSubstr("runs ring"));
  EXPECT_EQ(Why(Collective::kAllReduce, "segmented_ring", 4, 4 * 256, 1024), "");
  EXPECT_THAT(Why(Collective::kAllReduce, "segmented_ring", 4, 4 * 256 - 1, 1024),
              HasSubstr("shorter than a segment"));
  EXPECT_EQ(Why(Collective::kAllGather, "recursive_doubling", 8, 1), "");
  EXPECT_THAT(Why(Collective::kAllGather, "recursive_doubling", 6, 1), HasSubstr("runs bruck"));
  EXPECT_EQ(Why(Collective::kAllGather, "neighbor", 6, 1), "");
  EXPECT_THAT(Why(Collective::kAllGather, "neighbor", 5, 1), HasSubstr("runs ring"));
  EXPECT_THAT(Why(Collective::kBroadcast, "scatter_allgather_ring", 4, 3),
              HasSubstr("runs basic_linear"));
  EXPECT_EQ(Why(Collective::kBroadcast, "split_binary_tree", 4, 2), "");
  EXPECT_THAT(Why(Collective::kBroadcast, "split_binary_tree", 4, 1), HasSubstr("runs chain"));
  EXPECT_THAT(Why(Collective::kReduce, "rabenseifner", 4, 3), HasSubstr("runs linear"));
}

TEST(MpiAlgorithmsTest, WhatOpenMpiRefusesIsNamed) {
  for (const Collective collective :
       {Collective::kAllGather, Collective::kAllToAll, Collective::kBarrier}) {
    EXPECT_EQ(Why(collective, "two_proc", 2, 8), "");
    EXPECT_THAT(Why(collective, "two_proc", 3, 8), HasSubstr("2 ranks"));
  }
  EXPECT_THAT(Why(Collective::kAllReduce, "ring", 1, 8), HasSubstr("one rank"));
}

}  // namespace
}  // namespace hockney
