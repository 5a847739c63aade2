#include "collectives/partners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/algorithms.h"

namespace hockney {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RankProgram Build(Collective collective, std::string_view name, int ranks, int rank,
                  Protocol protocol = Protocol::kSimple) {
  Parameters parameters;
  parameters.protocol = protocol;
  return FindAlgorithm(collective, name)->build({collective, ranks, 0}, rank, parameters);
}

TEST(PartnersTest, ARingHasItsNeighbours) {
  const RankProgram program = Build(Collective::kAllReduce, "ring", 6, 0);
  EXPECT_THAT(PartnersOf(program), ElementsAre(1, 5));
  EXPECT_THAT(MemoryPartnersOf(program), IsEmpty());
}

TEST(PartnersTest, LoopsOverPeersAreFollowed) {
  EXPECT_THAT(PartnersOf(Build(Collective::kAllToAll, "pairwise", 5, 2)), ElementsAre(0, 1, 3, 4));
}

TEST(PartnersTest, PeerShapesReachMemory) {
  EXPECT_THAT(MemoryPartnersOf(Build(Collective::kAllReduce, "two_shot", 3, 1)), ElementsAre(0, 2));
  EXPECT_THAT(MemoryPartnersOf(Build(Collective::kAllReduce, "two_shot", 3, 1, Protocol::kLl)),
              IsEmpty());
}

// Connections are made from both ends at once.
TEST(PartnersTest, PartnersAreMutual) {
  for (const Algorithm& row : AllAlgorithms()) {
    for (const int ranks : {2, 5, 8}) {
      std::vector<std::vector<int>> all;
      all.reserve(ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        all.push_back(PartnersOf(row.build({row.collective, ranks, 0}, rank, Parameters{})));
      }
      for (int a = 0; a < ranks; ++a) {
        for (const int b : all[a]) {
          EXPECT_THAT(all[b], testing::Contains(a)) << row.name << " " << ranks;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hockney
