#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "collectives/verify.h"
#include "tests/collectives/placements.h"

// What defines `hierarchical`: what crosses between nodes, between whom, in how many messages.
namespace hockney {
namespace {

using enum Collective;
using testing::Even;
using testing::PlaceRanks;
using testing::RankOrder;
using testing::WithRacks;

// The traffic of one call on blocks, or one vector, of `bytes` bytes.
struct Traffic {
  std::uint64_t bytes = 0;
  std::vector<Transfer> transfers;
  std::vector<int> node_of_rank;

  bool Crosses(const Transfer& t) const { return node_of_rank[t.rank] != node_of_rank[t.peer]; }
  std::uint64_t SentBetweenNodes(int rank) const {
    std::uint64_t sum = 0;
    for (const Transfer& t : transfers) sum += t.rank == rank && Crosses(t) ? t.bytes : 0;
    return sum;
  }
  std::uint64_t LeavesNode(int node) const {
    std::uint64_t sum = 0;
    for (const Transfer& t : transfers) {
      sum += node_of_rank[t.rank] == node && Crosses(t) ? t.bytes : 0;
    }
    return sum;
  }
  int MessagesBetweenNodes(int rank) const {
    return static_cast<int>(std::count_if(transfers.begin(), transfers.end(), [&](const auto& t) {
      return t.rank == rank && Crosses(t);
    }));
  }
};

Traffic Trace(Collective collective, const RankPlacement& placement, const Levels& levels,
              int root = 0) {
  Parameters parameters;
  parameters.levels = levels;
  parameters.placement = &placement;
  const Algorithm& row = *FindAlgorithm(collective, kHierarchical);
  const Shape shape{collective, static_cast<int>(placement.node_of_rank.size()), root};
  const Cut cut = row.build(shape, 0, parameters).cut;
  const std::uint64_t bytes = std::uint64_t{128} * 2520 * cut.lanes;  // whole in 1..10 parts
  const Layout layout(EvenCounts(shape, bytes), DataType::kInt8, cut);
  Verdict verdict = VerifyAlgorithm(row, layout, parameters, {.slices = 1, .slots = 4});
  EXPECT_FALSE(verdict.fault.has_value()) << verdict.fault->text;
  return {bytes, std::move(verdict.transfers), placement.node_of_rank};
}

// A rank's local index.
int LocalOf(const RankPlacement& placement, int rank) {
  const auto ranks = RanksByNode(placement)[placement.node_of_rank[rank]];
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

constexpr RankOrder kOrders[] = {RankOrder::kBlock, RankOrder::kRoundRobin, RankOrder::kShuffled};

TEST(HierarchicalPatternTest, MessagesBetweenNodesStayOnTheirRail) {
  for (const RankOrder order : kOrders) {
    for (const auto& sizes :
         std::vector<std::vector<int>>{Even(2, 3), Even(4, 2), {2, 5, 3}, {4, 2, 6}}) {
      const RankPlacement placement = PlaceRanks(sizes, order);
      for (const Collective collective : testing::HierarchicalCollectives()) {
        const RankPlacement railed = collective == kAllToAll ? EqualNodes(placement) : placement;
        const auto nodes = RanksByNode(railed);
        const auto rails = std::ranges::min(nodes, {}, &std::vector<int>::size).size();
        for (const Levels& levels : UsualLevels(collective, Protocol::kSimple, nullptr)) {
          const Traffic traffic = Trace(collective, placement, levels);
          for (const Transfer& t : traffic.transfers) {
            if (!traffic.Crosses(t)) continue;
            EXPECT_TRUE(t.message) << NameOf(levels);
            EXPECT_LT(LocalOf(railed, t.rank), static_cast<int>(rails));
            EXPECT_EQ(LocalOf(railed, t.rank), LocalOf(railed, t.peer)) << NameOf(levels);
          }
        }
      }
    }
  }
}

// The least there can be: 2n(k-1)/k a node and direction for k nodes, whatever the ranks of a node.
TEST(HierarchicalPatternTest, RingAllReduceSendsTheLeastFromEachNode) {
  for (const int nodes : {2, 3, 4, 5}) {
    for (const std::vector<int>& sizes :
         {Even(nodes, 1), Even(nodes, 2), Even(nodes, 3), Even(nodes, 4)}) {
      const RankPlacement placement = PlaceRanks(sizes, RankOrder::kRoundRobin);
      for (const char* intra : {"ring", "direct"}) {
        const Traffic traffic = Trace(kAllReduce, placement, {intra, {}, "ring"});
        for (int node = 0; node < nodes; ++node) {
          EXPECT_NEAR(static_cast<double>(traffic.LeavesNode(node)),
                      2.0 * static_cast<double>(traffic.bytes) * (nodes - 1) / nodes, 4096);
        }
        for (int rank = 0; rank < nodes * sizes[0]; ++rank) {
          EXPECT_EQ(traffic.MessagesBetweenNodes(rank), 2 * (nodes - 1));
        }
      }
    }
  }
}

// Extras bring no more over the wire: the rails that there are carry everything.
TEST(HierarchicalPatternTest, UnevenNodesSendAsMuchAsEvenOnes) {
  const RankPlacement placement = PlaceRanks({2, 5, 3}, RankOrder::kBlock);
  const Traffic traffic = Trace(kAllReduce, placement, {"ring", {}, "ring"});
  for (int node = 0; node < 3; ++node) {
    EXPECT_NEAR(static_cast<double>(traffic.LeavesNode(node)),
                2.0 * static_cast<double>(traffic.bytes) * 2 / 3, 4096);
  }
  // Every node takes all blocks of the others, once.
  const Traffic gather = Trace(kAllGather, placement, {"ring", {}, "ring"});
  std::uint64_t crossing = 0;
  for (int node = 0; node < 3; ++node) crossing += gather.LeavesNode(node);
  EXPECT_EQ(crossing, gather.bytes * (8 + 5 + 7));
}

// n(k-1)/k of the long side leaves a node in the halves; blocks for other nodes once in all-to-all.
TEST(HierarchicalPatternTest, BlocksCrossOnce) {
  for (const int nodes : {2, 3, 4}) {
    const RankPlacement placement = PlaceRanks(Even(nodes, 3), RankOrder::kShuffled);
    const std::uint64_t others = 3 * (static_cast<std::uint64_t>(nodes) - 1);
    for (const auto& [collective, inter, blocks] : {std::tuple{kReduceScatter, "ring", others},
                                                    {kAllGather, "ring", others},
                                                    {kReduceScatter, "pairwise", others},
                                                    {kAllGather, "bruck", others},
                                                    {kAllToAll, "pairwise", 3 * others}}) {
      const Levels levels = {collective == kAllToAll ? "pairwise" : "ring", {}, inter};
      const Traffic traffic = Trace(collective, placement, levels);
      for (int node = 0; node < nodes; ++node) {
        EXPECT_EQ(traffic.LeavesNode(node), traffic.bytes * blocks) << Name(collective);
      }
    }
  }
}

// The vector leaves every node at most once along a chain, and not at all from the last.
TEST(HierarchicalPatternTest, BroadcastAndReduceCrossOnceANode) {
  for (const int nodes : {2, 3, 4}) {
    const RankPlacement placement = PlaceRanks(Even(nodes, 2), RankOrder::kBlock);
    for (int root = 0; root < 2 * nodes; ++root) {
      for (const Collective collective : {kBroadcast, kReduce}) {
        const Traffic traffic = Trace(collective, placement, {"ring", {}, "ring"}, root);
        const int at = root / 2;
        const int last = collective == kBroadcast ? (at + nodes - 1) % nodes : at;
        for (int node = 0; node < nodes; ++node) {
          EXPECT_EQ(traffic.LeavesNode(node), node == last ? 0 : traffic.bytes);
        }
      }
    }
  }
}

// With doubling on top a rank sends log2(k) messages over the wire.
TEST(HierarchicalPatternTest, DoublingSendsLogManyMessages) {
  const RankPlacement placement = PlaceRanks(Even(4, 2), RankOrder::kBlock);
  const Traffic traffic = Trace(kAllReduce, placement, {"direct", {}, "recursive_doubling"});
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(traffic.MessagesBetweenNodes(rank), 2);
}

// Between racks a vector's share of the rails of a rack crosses: 2n(w-1)/w a rack for w racks.
TEST(HierarchicalPatternTest, ARackLevelKeepsTrafficInsideRacks) {
  const RankPlacement placement = WithRacks(PlaceRanks(Even(4, 2), RankOrder::kBlock), 2);
  for (const char* inter : {"ring", "halving_doubling"}) {
    const Traffic traffic = Trace(kAllReduce, placement, {"direct", "ring", inter});
    std::map<int, std::uint64_t> leaves;
    for (const Transfer& t : traffic.transfers) {
      const int from = placement.rack_of_node[placement.node_of_rank[t.rank]];
      const int to = placement.rack_of_node[placement.node_of_rank[t.peer]];
      if (from != to) leaves[from] += t.bytes;
    }
    EXPECT_EQ(leaves[0], traffic.bytes);
    EXPECT_EQ(leaves[1], traffic.bytes);
  }
}

}  // namespace
}  // namespace hockney
