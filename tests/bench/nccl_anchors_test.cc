#include "bench/nccl_anchors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Misses stand in the table; here they are named, so that none comes or goes unnoticed.
TEST(NcclAnchorsTest, LargeSizesAreMetButForTheNamed) {
  std::vector<std::string> missed;
  int gated = 0;
  for (const NcclComparison& each : CompareNcclAnchors()) {
    if (!each.is_gated()) continue;
    ++gated;
    if (each.is_met()) continue;
    missed.push_back(each.anchor.cluster + " " + std::to_string(each.anchor.ranks) + " " +
                     std::to_string(each.anchor.bytes));
  }
  EXPECT_EQ(gated, 21);
  EXPECT_THAT(missed, ElementsAre("b200 32 268435456"));
}

TEST(NcclAnchorsTest, TheTableShowsAllWithWhatTheyAre) {
  const std::string table = NcclAnchorTable();
  EXPECT_THAT(table, HasSubstr("None of the published figures was used for a preset"));
  EXPECT_THAT(table, HasSubstr("nccl-tests #283"));
  EXPECT_THAT(table, HasSubstr("NO"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '%'),
            2 + static_cast<long>(CompareNcclAnchors().size()));
}

}  // namespace
}  // namespace hockney
