// Reports of nodes with unequal numbers of ranks (B44: a number of the project's collection of
// public cases), on threads that stand for ranks of several nodes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/collectives/host_ground.h"
#include "tests/collectives/placements.h"

namespace hockney {
namespace {

using testing::ExecutorCase;

// The layouts of public case B44, 8 bytes and 1 MiB, with two levels that differ in all they do.
TEST(PublicCaseTest, B44UnequalRanksPerNode) {
  HostDomain::Options options;
  options.lanes = 8;
  for (const std::vector<int>& sizes :
       std::vector<std::vector<int>>{{7, 8}, {1, 7}, {3, 3, 3}, {4, 6}, {1, 1, 5}}) {
    const RankPlacement placement = testing::PlaceRanks(sizes, testing::RankOrder::kBlock);
    const int ranks = static_cast<int>(placement.node_of_rank.size());
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1} << 20}) {
      std::vector<ExecutorCase> cases;
      for (const Collective collective : testing::HierarchicalCollectives()) {
        ExecutorCase test;
        test.row = FindAlgorithm(collective, kHierarchical);
        test.parameters.placement = &placement;
        const bool blocks = !HasRoot(collective) && collective != Collective::kAllReduce;
        const std::uint64_t count = bytes / 4 / (blocks && bytes > 8 ? ranks : 1);
        test.counts = EvenCounts({collective, ranks, HasRoot(collective) ? ranks - 1 : 0}, count);
        const auto all = UsualLevels(collective, Protocol::kSimple, nullptr);
        for (const Levels& levels : all) {
          test.parameters.levels = levels;
          if (levels.inter != all[0].inter) continue;
          if (WhyNotHierarchical(collective, test.parameters).empty()) cases.push_back(test);
        }
      }
      EXPECT_EQ(testing::RunCases(ranks, cases, options, 1, testing::MakeHostGround), "") << bytes;
    }
  }
}

}  // namespace
}  // namespace hockney
