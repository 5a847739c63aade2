#include "collectives/algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/builder.h"

namespace hockney {
namespace {

using enum Collective;

TEST(AlgorithmTableTest, HasEveryRequiredRow) {
  const std::map<std::string, std::vector<Collective>> required = {
      {"ring", {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce}},
      {"double_binary_tree", {kAllReduce, kBroadcast, kReduce}},
      {"recursive_doubling", {kAllReduce, kAllGather, kBarrier}},
      {"halving_doubling", {kAllReduce, kReduceScatter}},
      {"one_shot", {kAllReduce}},
      {"two_shot", {kAllReduce}},
      {"direct",
       {kReduceScatter, kAllGather, kAllToAll, kAllToAllV, kBroadcast, kReduce, kGather, kScatter,
        kBarrier, kSendRecv}},
      {"bruck", {kAllGather, kAllToAll}},
      {"pairwise", {kAllToAll, kAllToAllV, kReduceScatter}},
      {"pat", {kAllGather, kReduceScatter}},
      {"naive_root", {std::begin(kAllCollectives), std::end(kAllCollectives)}}};
  for (const auto& [name, collectives] : required) {
    for (const Collective collective : collectives) {
      EXPECT_NE(FindAlgorithm(collective, name), nullptr) << Name(collective) << " " << name;
    }
  }
  EXPECT_EQ(FindAlgorithm(kAllReduce, "pat"), nullptr);
}

TEST(AlgorithmTableTest, NamesAreUniqueAndRowsComplete) {
  std::set<std::pair<Collective, std::string_view>> names;
  for (const Algorithm& row : AllAlgorithms()) {
    EXPECT_TRUE(names.emplace(row.collective, row.name).second) << row.name;
    EXPECT_NE(row.build, nullptr) << row.name;
    EXPECT_NE(row.wire_fraction, nullptr) << row.name;
  }
}

// Calls visit(row, parameters) for every row and protocol.
template <class Visit>
void ForEachRow(Visit visit) {
  for (const Algorithm& row : AllAlgorithms()) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      if (protocol == Protocol::kLl && !row.has_ll) continue;
      Parameters parameters;
      parameters.protocol = protocol;
      visit(row, parameters);
    }
  }
}

int LongestLane(const RankProgram& program) {
  int steps = 0;
  for (const Lane& lane : program.lanes) steps = std::max<int>(steps, lane.step_count);
  return steps;
}

// Bounds the steps of a lane; its bytes follow from how an executor packs them.
TEST(ProgramLengthTest, GrowsWithTheLogarithmOfTheRanks) {
  int longest = 0;
  ForEachRow([&](const Algorithm& row, const Parameters& parameters) {
    for (const int ranks : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 100, 127, 128}) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Shape shape{.collective = row.collective, .ranks = ranks, .root = 0};
        const int steps = LongestLane(row.build(shape, rank, parameters));
        ASSERT_LE(steps, 4 * CeilLog2(ranks) + 8) << Name(row.collective) << " " << row.name;
        longest = std::max(longest, steps);
      }
    }
  });
  std::cout << "longest lane: " << longest << " steps\n";
}

TEST(ProgramLengthTest, DoesNotGrowWithPieces) {
  ForEachRow([](const Algorithm& row, Parameters parameters) {
    for (const int ranks : {2, 5, 16}) {
      const Shape shape{.collective = row.collective, .ranks = ranks, .root = 0};
      for (int rank = 0; rank < ranks; ++rank) {
        parameters.pieces = 1;
        const RankProgram once = row.build(shape, rank, parameters);
        parameters.pieces = 100000;
        const RankProgram often = row.build(shape, rank, parameters);
        ASSERT_EQ(once.lanes.size(), often.lanes.size());
        for (std::size_t lane = 0; lane < once.lanes.size(); ++lane) {
          ASSERT_EQ(once.lanes[lane].step_count, often.lanes[lane].step_count) << row.name;
          ASSERT_LE(often.lanes[lane].loop_count, once.lanes[lane].loop_count + 1) << row.name;
        }
      }
    }
  });
}

double Wire(Collective collective, std::string_view name, int ranks, int rank = 0, int root = 0) {
  const Shape shape{.collective = collective, .ranks = ranks, .root = root};
  return FindAlgorithm(collective, name)->wire_fraction(shape, rank, {});
}

TEST(WireFractionTest, RingAndTwoShotAllReduceMoveTwiceAllButOnePart) {
  for (const char* name : {"ring", "two_shot"}) {
    EXPECT_DOUBLE_EQ(Wire(kAllReduce, name, 1), 0.0);
    EXPECT_DOUBLE_EQ(Wire(kAllReduce, name, 2), 1.0);
    EXPECT_DOUBLE_EQ(Wire(kAllReduce, name, 3), 4.0 / 3);
    EXPECT_DOUBLE_EQ(Wire(kAllReduce, name, 8), 1.75);
    EXPECT_DOUBLE_EQ(Wire(kAllReduce, name, 128), 1.984375);
  }
}

TEST(WireFractionTest, OtherAllReducesAreTheTextbooks) {
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "one_shot", 8), 7.0);
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "recursive_doubling", 8), 3.0);
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "halving_doubling", 2), 1.0);
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "halving_doubling", 8), 1.75);
  // Of 5 ranks, rank 4 folds into rank 0: 2 * 3/4, and the whole result to the extra.
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "halving_doubling", 5, 1), 1.5);
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "halving_doubling", 5, 0), 2.5);
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "halving_doubling", 5, 4), 1.0);
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "naive_root", 8, 0), 7.0);
  EXPECT_DOUBLE_EQ(Wire(kAllReduce, "naive_root", 8, 3), 1.0);
}

// Every rank but the two tops passes each half on twice at most; over all ranks 2(p-1) halves go up
// and as many down.
TEST(WireFractionTest, TreeAllReduceMovesTwoVectorsPerEdge) {
  for (int ranks = 1; ranks <= 33; ++ranks) {
    double total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const double fraction = Wire(kAllReduce, "double_binary_tree", ranks, rank);
      EXPECT_LE(fraction, 2.0);
      total += fraction;
    }
    EXPECT_DOUBLE_EQ(total, 2.0 * (ranks - 1));
  }
}

TEST(WireFractionTest, HalvesOfAllReduceMoveAllButOnePart) {
  for (const Collective collective : {kReduceScatter, kAllGather, kAllToAll, kAllToAllV}) {
    for (const char* name : {"ring", "pairwise", "pat", "direct", "bruck"}) {
      if (FindAlgorithm(collective, name) == nullptr) continue;
      if (collective == kAllToAll && std::string_view(name) == "bruck") continue;
      EXPECT_DOUBLE_EQ(Wire(collective, name, 8), 0.875) << Name(collective) << " " << name;
      EXPECT_DOUBLE_EQ(Wire(collective, name, 5), 0.8) << Name(collective) << " " << name;
    }
  }
  EXPECT_DOUBLE_EQ(Wire(kReduceScatter, "halving_doubling", 8), 0.875);
  EXPECT_DOUBLE_EQ(Wire(kAllGather, "recursive_doubling", 8), 0.875);
  EXPECT_DOUBLE_EQ(Wire(kAllToAll, "bruck", 8), 1.5);  // log2(p)/2
  EXPECT_DOUBLE_EQ(Wire(kAllToAll, "bruck", 5), 1.0);  // bits set in 0..4, over 5
}

TEST(WireFractionTest, RootedCollectivesAreTheTextbooks) {
  constexpr int kRoot = 3;
  const auto at = [](Collective collective, const char* name, int rank) {
    return Wire(collective, name, 8, rank, kRoot);
  };
  EXPECT_DOUBLE_EQ(at(kBroadcast, "ring", kRoot), 1.0);
  EXPECT_DOUBLE_EQ(at(kBroadcast, "ring", kRoot - 1), 0.0);
  EXPECT_DOUBLE_EQ(at(kBroadcast, "naive_root", kRoot), 7.0);
  EXPECT_DOUBLE_EQ(at(kBroadcast, "naive_root", 0), 0.0);
  EXPECT_DOUBLE_EQ(at(kBroadcast, "double_binary_tree", kRoot), 1.0);
  EXPECT_DOUBLE_EQ(at(kBroadcast, "direct", kRoot), 0.875);
  EXPECT_DOUBLE_EQ(at(kBroadcast, "direct", 0), 1.0);
  for (const char* name : {"ring", "double_binary_tree", "naive_root"}) {
    EXPECT_DOUBLE_EQ(at(kReduce, name, kRoot), 0.0);
    EXPECT_DOUBLE_EQ(at(kReduce, name, 0), 1.0);
  }
  EXPECT_DOUBLE_EQ(at(kReduce, "direct", kRoot), 0.875);
  EXPECT_DOUBLE_EQ(at(kGather, "direct", 0), 0.125);
  EXPECT_DOUBLE_EQ(at(kGather, "naive_root", kRoot), 0.0);
  EXPECT_DOUBLE_EQ(at(kScatter, "direct", 0), 0.125);
  EXPECT_DOUBLE_EQ(at(kScatter, "naive_root", kRoot), 0.875);
  EXPECT_DOUBLE_EQ(at(kSendRecv, "ring", 0), 1.0);
  EXPECT_DOUBLE_EQ(at(kBarrier, "direct", 0), 0.0);
}

}  // namespace
}  // namespace hockney
