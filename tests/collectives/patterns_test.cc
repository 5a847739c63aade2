#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/algorithms/double_tree.h"
#include "collectives/builder.h"
#include "collectives/verify.h"

// What defines each algorithm: who moves how much to whom, in which order.
namespace hockney {
namespace {

using enum Collective;

constexpr int kRankCounts[] = {2, 3, 4, 5, 7, 8, 16, 17};
constexpr int kPowers[] = {2, 4, 8, 16};

// The proved transfers of one call, by rank, with chunks of kChunk bytes.
constexpr std::uint64_t kChunk = 128;
using Transfers = std::vector<std::vector<Transfer>>;

Transfers Trace(const Shape& shape, std::string_view name, const Parameters& parameters = {}) {
  const Algorithm& row = *FindAlgorithm(shape.collective, name);
  const Cut cut = row.build(shape, 0, parameters).cut;
  Counts counts = EvenCounts(shape, 0);
  counts.counts.assign(counts.counts.size(), kChunk * cut.lanes * cut.chunks);
  const Layout layout(counts, DataType::kInt8, cut);
  const Verdict verdict = VerifyAlgorithm(row, layout, parameters, {.slices = 2, .slots = 4});
  EXPECT_FALSE(verdict.fault.has_value()) << verdict.fault->text;
  Transfers by_rank(shape.ranks);
  for (const Transfer& transfer : verdict.transfers) {
    EXPECT_EQ(transfer.bytes, transfer.chunks * kChunk);
    by_rank[transfer.rank].push_back(transfer);
  }
  return by_rank;
}

// (peer, chunks) of each message or access, in order.
using Pattern = std::vector<std::pair<int, int>>;

Pattern PatternOf(const std::vector<Transfer>& transfers) {
  Pattern pattern;
  for (const Transfer& transfer : transfers) pattern.emplace_back(transfer.peer, transfer.chunks);
  return pattern;
}

// Whether all are messages, or all reads, or all writes of peer memory.
bool AreMessages(const std::vector<Transfer>& transfers) {
  return std::all_of(transfers.begin(), transfers.end(),
                     [](const Transfer& t) { return t.message; });
}
int CountReads(const std::vector<Transfer>& transfers) {
  return static_cast<int>(std::count_if(transfers.begin(), transfers.end(),
                                        [](const Transfer& t) { return !t.outgoing; }));
}

// One message of `chunks` chunks to each of the ranks at `distances`.
Pattern Exchange(int rank, int ranks, const std::vector<std::pair<int, int>>& distance_chunks) {
  Pattern pattern;
  for (const auto& [distance, chunks] : distance_chunks) {
    pattern.emplace_back(((rank + distance) % ranks + ranks) % ranks, chunks);
  }
  return pattern;
}

TEST(PatternTest, RingSendsToItsNextRankOnly) {
  for (const int p : kRankCounts) {
    for (const auto& [collective, messages] : {std::pair{kAllReduce, 2 * (p - 1)},
                                               {kReduceScatter, p - 1},
                                               {kAllGather, p - 1},
                                               {kSendRecv, 1}}) {
      const Transfers all = Trace({collective, p, 0}, "ring");
      for (int rank = 0; rank < p; ++rank) {
        EXPECT_EQ(PatternOf(all[rank]), Pattern(messages, {(rank + 1) % p, 1})) << p;
        EXPECT_TRUE(AreMessages(all[rank]));
      }
    }
  }
}

TEST(PatternTest, RingBroadcastAndReduceAreAChain) {
  for (const int p : kRankCounts) {
    const int root = p / 2;
    const Transfers down = Trace({kBroadcast, p, root}, "ring");
    const Transfers up = Trace({kReduce, p, root}, "ring");
    for (int rank = 0; rank < p; ++rank) {
      const int next = (rank + 1) % p;
      EXPECT_EQ(PatternOf(down[rank]), Pattern(next == root ? 0 : 1, {next, 1}));
      EXPECT_EQ(PatternOf(up[rank]), Pattern(rank == root ? 0 : 1, {next, 1}));
    }
  }
}

TEST(PatternTest, RecursiveDoublingExchangesTheWholeAtDoublingDistances) {
  for (const int p : kRankCounts) {
    const int power = FloorPowerOfTwo(p);
    const Transfers all = Trace({kAllReduce, p, 0}, "recursive_doubling");
    for (int rank = 0; rank < p; ++rank) {
      Pattern expected;
      if (rank >= power) {
        expected = {{rank - power, 1}};
      } else {
        for (int bit = 1; bit < power; bit *= 2) expected.emplace_back(rank ^ bit, 1);
        if (rank + power < p) expected.emplace_back(rank + power, 1);
      }
      EXPECT_EQ(PatternOf(all[rank]), expected) << p << " ranks, rank " << rank;
    }
  }
}

TEST(PatternTest, RecursiveDoublingAllGatherDoublesItsMessages) {
  for (const int p : kPowers) {
    const Transfers all = Trace({kAllGather, p, 0}, "recursive_doubling");
    for (int rank = 0; rank < p; ++rank) {
      Pattern expected;
      for (int bit = 1; bit < p; bit *= 2) expected.emplace_back(rank ^ bit, bit);
      EXPECT_EQ(PatternOf(all[rank]), expected);
    }
  }
}

TEST(PatternTest, HalvingDoublingHalvesThenDoubles) {
  for (const int p : kRankCounts) {
    const int power = FloorPowerOfTwo(p);
    const Transfers all = Trace({kAllReduce, p, 0}, "halving_doubling");
    for (int rank = 0; rank < p; ++rank) {
      Pattern expected;  // of n/power each
      if (rank >= power) {
        expected = {{rank - power, power}};
      } else {
        for (int half = power / 2; half >= 1; half /= 2) expected.emplace_back(rank ^ half, half);
        for (int half = 1; half < power; half *= 2) expected.emplace_back(rank ^ half, half);
        if (rank + power < p) expected.emplace_back(rank + power, power);
      }
      EXPECT_EQ(PatternOf(all[rank]), expected) << p << " ranks, rank " << rank;
    }
  }
  for (const int p : kPowers) {
    const Transfers all = Trace({kReduceScatter, p, 0}, "halving_doubling");
    Pattern expected;
    for (int half = p / 2; half >= 1; half /= 2) expected.emplace_back(half, half);
    EXPECT_EQ(PatternOf(all[0]), expected);
  }
}

TEST(PatternTest, BruckSendsCeilLogMessages) {
  for (const int p : kRankCounts) {
    const Transfers gather = Trace({kAllGather, p, 0}, "bruck");
    const Transfers all_to_all = Trace({kAllToAll, p, 0}, "bruck");
    for (int rank = 0; rank < p; ++rank) {
      std::vector<std::pair<int, int>> back;
      std::vector<std::pair<int, int>> forth;
      for (int d = 1; d < p; d *= 2) {
        back.emplace_back(-d, std::min(d, p - d));
        int blocks = 0;  // whose index has this bit
        for (int j = 0; j < p; ++j) blocks += (j & d) != 0 ? 1 : 0;
        forth.emplace_back(d, blocks);
      }
      EXPECT_EQ(PatternOf(gather[rank]), Exchange(rank, p, back)) << p;
      EXPECT_EQ(PatternOf(all_to_all[rank]), Exchange(rank, p, forth)) << p;
      EXPECT_EQ(gather[rank].size(), static_cast<std::size_t>(CeilLog2(p)));
      EXPECT_EQ(all_to_all[rank].size(), static_cast<std::size_t>(CeilLog2(p)));
    }
  }
}

TEST(PatternTest, PairwiseStepJGoesToTheRankAtDistanceJ) {
  for (const int p : kRankCounts) {
    for (const Collective collective : {kAllToAll, kAllToAllV, kReduceScatter}) {
      const Transfers all = Trace({collective, p, 0}, "pairwise");
      for (int rank = 0; rank < p; ++rank) {
        std::vector<std::pair<int, int>> steps;
        for (int j = 1; j < p; ++j) steps.emplace_back(j, 1);
        EXPECT_EQ(PatternOf(all[rank]), Exchange(rank, p, steps)) << p;
      }
    }
  }
}

TEST(PatternTest, PatSendsCeilLogMessagesFarthestFirst) {
  for (const int p : kRankCounts) {
    const Transfers gather = Trace({kAllGather, p, 0}, "pat");
    const Transfers scatter = Trace({kReduceScatter, p, 0}, "pat");
    for (int rank = 0; rank < p; ++rank) {
      std::vector<std::pair<int, int>> far_first;
      for (int d = (1 << CeilLog2(p)) / 2; d >= 1; d /= 2) {
        int blocks = 0;  // at offsets d, 3d, 5d, ... from their owner
        for (int offset = d; offset < p; offset += 2 * d) ++blocks;
        far_first.emplace_back(d, blocks);
      }
      EXPECT_EQ(PatternOf(gather[rank]), Exchange(rank, p, far_first)) << p;
      std::reverse(far_first.begin(), far_first.end());
      EXPECT_EQ(PatternOf(scatter[rank]), Exchange(rank, p, far_first)) << p;
      EXPECT_EQ(gather[rank].size(), static_cast<std::size_t>(CeilLog2(p)));
    }
  }
}

TEST(PatternTest, PatWithAggregationSendsTheMessagesOfThePaper) {
  for (const int p : kPowers) {
    for (int aggregation = 1; aggregation <= p / 2; aggregation *= 2) {
      Parameters parameters;
      parameters.aggregation = aggregation;
      for (const Collective collective : {kAllGather, kReduceScatter}) {
        const Transfers all = Trace({collective, p, 0}, "pat", parameters);
        for (int rank = 0; rank < p; ++rank) {
          EXPECT_EQ(static_cast<int>(all[rank].size()), CeilLog2(aggregation) + p / aggregation - 1)
              << p << " ranks, aggregation " << aggregation;
          for (const Transfer& transfer : all[rank]) EXPECT_LE(transfer.chunks, aggregation);
        }
      }
    }
  }
}

// Lane 2t takes half t up, lane 2t + 1 takes it down.
TEST(PatternTest, TreeMovesEachHalfAlongItsTree) {
  for (const int p : kRankCounts) {
    const Transfers all = Trace({kAllReduce, p, 0}, "double_binary_tree");
    for (int rank = 0; rank < p; ++rank) {
      const auto trees = FindDoubleTree(p, rank);
      std::multiset<std::pair<int, int>> expected;  // lane, peer
      for (int t = 0; t < 2; ++t) {
        if (trees[t].parent >= 0) expected.emplace(2 * t, trees[t].parent);
        for (const int child : trees[t].children) {
          if (child >= 0) expected.emplace(2 * t + 1, child);
        }
      }
      std::multiset<std::pair<int, int>> moved;
      for (const Transfer& transfer : all[rank]) {
        moved.emplace(transfer.lane, transfer.peer);
        EXPECT_EQ(transfer.chunks, 1);  // a half
      }
      EXPECT_EQ(moved, expected) << p << " ranks, rank " << rank;
    }
  }
}

TEST(PatternTest, TreeBroadcastAndReduceUseTheSameEdgesTurnedRound) {
  for (const int p : kRankCounts) {
    const int root = p / 2;
    std::multiset<std::pair<int, int>> down;
    std::multiset<std::pair<int, int>> up;
    for (const auto& transfers : Trace({kBroadcast, p, root}, "double_binary_tree")) {
      for (const Transfer& t : transfers) down.emplace(t.rank, t.peer);
      // The root sends each half once; a rank has two children over both trees at most.
      EXPECT_LE(transfers.size(), 2U);
    }
    for (const auto& transfers : Trace({kReduce, p, root}, "double_binary_tree")) {
      for (const Transfer& t : transfers) up.emplace(t.peer, t.rank);
    }
    EXPECT_EQ(down, up);
    EXPECT_EQ(down.size(), static_cast<std::size_t>(2 * (p - 1)));
  }
}

TEST(PatternTest, OneShotReadsAllInputs) {
  for (const int p : kRankCounts) {
    const Transfers all = Trace({kAllReduce, p, 0}, "one_shot");
    for (int rank = 0; rank < p; ++rank) {
      EXPECT_EQ(CountReads(all[rank]), p - 1);
      EXPECT_EQ(static_cast<int>(all[rank].size()), p - 1);
      for (const Transfer& t : all[rank]) EXPECT_EQ(t.bytes, kChunk);  // the whole vector
    }
  }
}

TEST(PatternTest, TwoShotReadsItsPartAndWritesItBack) {
  for (const int p : kRankCounts) {
    const Transfers all = Trace({kAllReduce, p, 0}, "two_shot");
    for (int rank = 0; rank < p; ++rank) {
      EXPECT_EQ(CountReads(all[rank]), p - 1);
      EXPECT_EQ(static_cast<int>(all[rank].size()), 2 * (p - 1));
      for (const Transfer& t : all[rank]) EXPECT_EQ(t.bytes, kChunk);  // one part of p
    }
  }
}

TEST(PatternTest, PeerShapesSendMessagesUnderLl) {
  Parameters parameters;
  parameters.protocol = Protocol::kLl;
  for (const char* name : {"one_shot", "two_shot"}) {
    for (const auto& transfers : Trace({kAllReduce, 5, 0}, name, parameters)) {
      EXPECT_TRUE(AreMessages(transfers)) << name;
    }
  }
}

TEST(PatternTest, DirectTouchesEveryPeerOnce) {
  for (const int p : kRankCounts) {
    for (const auto& [collective, reads] : {std::pair{kReduceScatter, true},
                                            {kAllGather, false},
                                            {kAllToAll, true},
                                            {kAllToAllV, true}}) {
      const Transfers all = Trace({collective, p, 0}, "direct");
      for (int rank = 0; rank < p; ++rank) {
        std::set<int> peers;
        for (const Transfer& t : all[rank]) peers.insert(t.peer);
        EXPECT_EQ(static_cast<int>(peers.size()), p - 1);
        EXPECT_EQ(static_cast<int>(all[rank].size()), p - 1);
        EXPECT_EQ(CountReads(all[rank]), reads ? p - 1 : 0) << Name(collective);
      }
    }
  }
}

// Broadcast and reduce share the work out, a part a rank; gather, scatter and shift are one access.
TEST(PatternTest, DirectWithARootSharesTheWork) {
  for (const int p : kRankCounts) {
    const int root = p - 1;
    const Transfers broadcast = Trace({kBroadcast, p, root}, "direct");
    const Transfers reduce = Trace({kReduce, p, root}, "direct");
    const Transfers gather = Trace({kGather, p, root}, "direct");
    const Transfers scatter = Trace({kScatter, p, root}, "direct");
    const Transfers shift = Trace({kSendRecv, p, 0}, "direct");
    for (int rank = 0; rank < p; ++rank) {
      const int other = rank == root ? 0 : 1;
      EXPECT_EQ(CountReads(broadcast[rank]), other);
      EXPECT_EQ(static_cast<int>(broadcast[rank].size()), p - 1 + other);
      EXPECT_EQ(CountReads(reduce[rank]), p - 1);
      EXPECT_EQ(static_cast<int>(reduce[rank].size()), p - 1 + other);
      EXPECT_EQ(PatternOf(gather[rank]), Pattern(other, {root, 1}));
      EXPECT_EQ(CountReads(gather[rank]), 0);
      EXPECT_EQ(PatternOf(scatter[rank]), Pattern(other, {root, 1}));
      EXPECT_EQ(CountReads(scatter[rank]), other);
      EXPECT_EQ(PatternOf(shift[rank]), (Pattern{{(rank + p - 1) % p, 1}}));
      EXPECT_EQ(CountReads(shift[rank]), 1);
    }
  }
}

TEST(PatternTest, NaiveRootSendsEverythingThroughTheRoot) {
  for (const Collective collective : kAllCollectives) {
    for (const int p : kRankCounts) {
      const int root = HasRoot(collective) ? p - 1 : 0;
      for (const auto& transfers : Trace({collective, p, root}, "naive_root")) {
        for (const Transfer& t : transfers) {
          EXPECT_TRUE(t.message);
          EXPECT_TRUE(t.rank == root || t.peer == root) << Name(collective);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hockney
