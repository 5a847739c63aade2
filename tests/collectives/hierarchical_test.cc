#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/builder.h"
#include "collectives/verify.h"
#include "tests/collectives/placements.h"

// The proof of `hierarchical` over made-up nodes and racks.
namespace hockney {
namespace {

using testing::AllLevels;
using testing::Even;
using testing::PlaceRanks;
using testing::RankOrder;
using testing::WithRacks;

struct Subject {
  Collective collective = Collective::kAllReduce;
  const RankPlacement* placement = nullptr;
  Levels levels{};
  Protocol protocol = Protocol::kSimple;
  int root = 0;
  int lanes = 1;
  int pieces = 1;
  Flow flow = {.slices = 1, .slots = 2};

  const Algorithm& row() const { return *FindAlgorithm(collective, kHierarchical); }
  Shape shape() const {
    return {collective, static_cast<int>(placement->node_of_rank.size()), root};
  }
  Parameters parameters() const {
    Parameters parameters;
    parameters.protocol = protocol;
    parameters.lanes = lanes;
    parameters.pieces = pieces;
    parameters.levels = levels;
    parameters.placement = placement;
    return parameters;
  }
};

std::string Describe(const Subject& subject) {
  return std::string(Name(subject.collective)) + " " + NameOf(subject.levels) +
         (subject.protocol == Protocol::kLl ? " ll" : "") + " root " +
         std::to_string(subject.root) + " lanes " + std::to_string(subject.lanes) + " pieces " +
         std::to_string(subject.pieces) + ", " + testing::Describe(*subject.placement);
}

// The empty string when the subject is proved, apart and in place.
std::string FindFault(const Subject& subject, const Counts& counts) {
  const Parameters parameters = subject.parameters();
  const Cut cut = subject.row().build(subject.shape(), 0, parameters).cut;
  const Layout layout(counts, DataType::kInt8, cut);
  const Verdict verdict = VerifyAlgorithm(subject.row(), layout, parameters, subject.flow);
  if (!verdict.complete) return "not complete";
  if (!verdict.fault) return "";
  return std::string(Name(verdict.fault->kind)) + ": " + verdict.fault->text + " (" +
         Describe(subject) + ")";
}

// For a count that makes all chunks alike, so that the traffic is held against the formula.
std::string FindFault(const Subject& subject) {
  const Cut cut = subject.row().build(subject.shape(), 0, subject.parameters()).cut;
  return FindFault(subject,
                   EvenCounts(subject.shape(), std::uint64_t{128} * cut.lanes * cut.chunks));
}

class HierarchicalTest : public ::testing::TestWithParam<Collective> {
 protected:
  // A proof makes and frees the programs of all ranks; giving their pages back each time takes most
  // of the time.
  static void SetUpTestSuite() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
  }

  // Every protocol and all levels, every root, lanes and pieces by turns. Few ranks: all levels
  // with every root. Many: a part of the levels, another one with every call.
  void ExpectProved(const RankPlacement& placement, bool with_rack) {
    const std::size_t ranks = placement.node_of_rank.size();
    const bool all_pairs = !with_rack && ranks <= 6;
    const std::size_t stride = ranks >= 12 ? 3 : (ranks >= 8 ? 2 : 1);
    ++call_;
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      const std::vector<Levels> levels = AllLevels(GetParam(), protocol, with_rack);
      Subject subject{.collective = GetParam(), .placement = &placement, .levels = levels.at(0)};
      subject.protocol = protocol;
      const std::size_t roots = HasRoot(GetParam()) ? ranks : 1;
      const std::size_t cases = all_pairs ? roots * levels.size() : std::max(roots, levels.size());
      for (std::size_t i = call_ % stride; i < cases; i += stride, ++turn_) {
        subject.levels = levels[i % levels.size()];
        subject.root = static_cast<int>(all_pairs ? i / levels.size() : i % roots);
        subject.pieces = 1 + turn_ % 3;
        subject.lanes = 1 + turn_ / 3 % 2;
        ASSERT_EQ(WhyNot(subject), "");
        ASSERT_EQ(FindFault(subject), "");
      }
    }
  }

 private:
  // One node is no hierarchy, nor are nodes of one rank, but a program all the same.
  static std::string WhyNot(const Subject& subject) {
    const std::string reason = WhyNotHierarchical(subject.collective, subject.parameters());
    const bool flat = reason == "all ranks are on one node" || reason.ends_with("flat algorithm");
    return flat ? "" : reason;
  }
  int turn_ = 0;
  int call_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Rows, HierarchicalTest,
                         ::testing::ValuesIn(testing::HierarchicalCollectives()),
                         [](const auto& of) { return std::string(Name(of.param)); });

TEST_P(HierarchicalTest, EveryLevelHoldsForOneToFiveNodesOfOneToFiveRanks) {
  for (int nodes = 1; nodes <= 5; ++nodes) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (const RankOrder order : {RankOrder::kBlock, RankOrder::kRoundRobin}) {
        ExpectProved(PlaceRanks(Even(nodes, ranks), order), false);
      }
    }
  }
}

TEST_P(HierarchicalTest, EveryLevelHoldsForUnevenAndIrregularPlacements) {
  const std::vector<std::vector<int>> uneven = {{2, 1},    {1, 3},       {2, 5},   {3, 2, 4},
                                                {1, 1, 5}, {4, 6},       {1, 7},   {7, 8},
                                                {3, 3, 3}, {5, 1, 2, 4}, {2, 2, 3}};
  for (const std::vector<int>& sizes : uneven) {
    for (const RankOrder order :
         {RankOrder::kBlock, RankOrder::kRoundRobin, RankOrder::kShuffled}) {
      const RankPlacement placement = PlaceRanks(sizes, order);
      ExpectProved(placement, false);
    }
  }
}

TEST_P(HierarchicalTest, ThreeLevelsHoldForRacks) {
  if (GetParam() == Collective::kAllToAll) return;  // two levels, see HierarchicalLevelsTest
  for (const RankOrder order : {RankOrder::kBlock, RankOrder::kRoundRobin}) {
    ExpectProved(WithRacks(PlaceRanks(Even(4, 1), order), 2), true);
    ExpectProved(WithRacks(PlaceRanks(Even(4, 2), order), 2), true);
    ExpectProved(WithRacks(PlaceRanks(Even(6, 1), order), 2), true);
  }
  ExpectProved(WithRacks(PlaceRanks({2, 3, 1, 2}, RankOrder::kShuffled), 2), true);
  ExpectProved(WithRacks(PlaceRanks({1, 2, 1, 1, 2, 1}, RankOrder::kBlock), 3), true);
  RankPlacement crossed = PlaceRanks(Even(4, 2), RankOrder::kRoundRobin);
  crossed.rack_of_node = {1, 0, 0, 1};
  ExpectProved(crossed, true);
}

TEST_P(HierarchicalTest, UsualLevelsHoldForAnyCount) {
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{2, 2}, {3, 3, 3}, {2, 5}}) {
    const RankPlacement placement = PlaceRanks(sizes, RankOrder::kRoundRobin);
    const auto p = static_cast<std::uint64_t>(placement.node_of_rank.size());
    Subject subject{.collective = GetParam(), .placement = &placement, .lanes = 2, .pieces = 3};
    if (!WhyNotHierarchical(GetParam(), subject.parameters()).empty()) continue;
    for (const Levels& levels : UsualLevels(GetParam(), Protocol::kSimple, nullptr)) {
      subject.levels = levels;
      subject.root = HasRoot(GetParam()) ? static_cast<int>(p) - 1 : 0;
      for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, p - 1, p + 1,
                                        std::uint64_t{73}, std::uint64_t{1009}}) {
        EXPECT_EQ(FindFault(subject, EvenCounts(subject.shape(), count)), "") << count;
      }
      Counts skewed = EvenCounts(subject.shape(), 1000);
      for (std::size_t b = 0; b < skewed.counts.size(); ++b) skewed.counts[b] = b % 3 * 997 * b;
      EXPECT_EQ(FindFault(subject, skewed), "");
    }
  }
}

TEST_P(HierarchicalTest, UsualLevelsHoldForOneSlotMoreThanSlices) {
  const RankPlacement placement = PlaceRanks(Even(3, 2), RankOrder::kBlock);
  for (const Levels& levels : UsualLevels(GetParam(), Protocol::kSimple, nullptr)) {
    for (const int slices : {1, 2, 4}) {
      Subject subject{.collective = GetParam(), .placement = &placement, .levels = levels};
      subject.lanes = 2;
      subject.pieces = 3;
      subject.flow = {.slices = slices, .slots = slices + 1};
      EXPECT_EQ(FindFault(subject), "");
    }
  }
}

TEST_P(HierarchicalTest, LanesStayShortAndDoNotGrowWithPieces) {
  for (const std::vector<int>& sizes :
       std::vector<std::vector<int>>{Even(2, 2), Even(16, 8), Even(8, 16), {7, 8}}) {
    const RankPlacement placement = PlaceRanks(sizes, RankOrder::kBlock);
    for (const Levels& levels : AllLevels(GetParam(), Protocol::kSimple, false)) {
      Subject subject{.collective = GetParam(), .placement = &placement, .levels = levels};
      if (!WhyNotHierarchical(GetParam(), subject.parameters()).empty()) continue;
      const int ranks = subject.shape().ranks;
      for (const int rank : {0, ranks / 2, ranks - 1}) {
        subject.pieces = 2;
        const RankProgram twice = subject.row().build(subject.shape(), rank, subject.parameters());
        subject.pieces = 300;
        const RankProgram often = subject.row().build(subject.shape(), rank, subject.parameters());
        ASSERT_EQ(twice.lanes.size(), often.lanes.size());
        for (std::size_t lane = 0; lane < twice.lanes.size(); ++lane) {
          ASSERT_EQ(twice.lanes[lane].step_count, often.lanes[lane].step_count);
          ASSERT_LE(twice.lanes[lane].step_count, 4 * CeilLog2(ranks) + 8) << Describe(subject);
        }
      }
    }
  }
}

TEST(HierarchicalLanesTest, ADataLaneTakesNoMoreThanStated) {
  const RankPlacement placement = WithRacks(PlaceRanks({2, 3, 2, 2}, RankOrder::kBlock), 2);
  std::size_t most = 0;
  for (const Collective collective : testing::HierarchicalCollectives()) {
    for (const Levels& levels : AllLevels(collective, Protocol::kSimple, true)) {
      Subject subject{.collective = collective, .placement = &placement, .levels = levels};
      if (!WhyNotHierarchical(collective, subject.parameters()).empty()) continue;
      most = std::max(most,
                      subject.row().build(subject.shape(), 0, subject.parameters()).lanes.size());
    }
  }
  EXPECT_EQ(most, std::size_t{kMostLanesPerDataLane});
}

TEST(HierarchicalManyTest, SixteenNodesOfEightRanksAreProved) {
  const RankPlacement placement = PlaceRanks(Even(16, 8), RankOrder::kBlock);
  for (const Collective collective : testing::HierarchicalCollectives()) {
    Subject subject{.collective = collective, .placement = &placement, .pieces = 2};
    subject.levels = UsualLevels(collective, Protocol::kSimple, nullptr).at(0);
    EXPECT_EQ(FindFault(subject), "");
  }
}

TEST(HierarchicalLevelsTest, AreReadAndWrittenAsUsersDo) {
  const Levels two = ParseLevels("hierarchical(direct,ring)");
  EXPECT_EQ(two, (Levels{.intra = "direct", .rack = {}, .inter = "ring"}));
  const Levels three = ParseLevels("hierarchical(direct,ring,double_binary_tree)");
  EXPECT_EQ(three, (Levels{.intra = "direct", .rack = "ring", .inter = "double_binary_tree"}));
  EXPECT_EQ(NameOf(two), "hierarchical(direct,ring)");
  EXPECT_EQ(NameOf(three), "hierarchical(direct,ring,double_binary_tree)");
  EXPECT_EQ(ParametersOf(two), "inter=ring;intra=direct");
  EXPECT_EQ(ParametersOf(three), "inter=double_binary_tree;intra=direct;rack=ring");
  EXPECT_TRUE(HasLevels("hierarchical(a,b)"));
  EXPECT_FALSE(HasLevels("hierarchical"));
  for (const char* text :
       {"hierarchical", "hierarchical(", "hierarchical()", "hierarchical(ring)",
        "hierarchical(ring,)", "hierarchical(ring,ring", "hierarchical(ring,ring,ring,ring)",
        "hierarchical(ring,hierarchical)", "hierarchical(ring, ring)", "ring(ring,ring)"}) {
    EXPECT_THROW(ParseLevels(text), std::invalid_argument) << text;
  }
}

TEST(HierarchicalLevelsTest, WhatDoesNotFitIsNamed) {
  const auto why = [](Collective collective, const char* text, Protocol protocol) {
    return WhyUnfit(collective, ParseLevels(text), protocol);
  };
  constexpr auto kAllReduce = Collective::kAllReduce;
  EXPECT_EQ(why(kAllReduce, "hierarchical(direct,ring)", Protocol::kSimple), "");
  EXPECT_EQ(why(kAllReduce, "hierarchical(two_shot,ring)", Protocol::kSimple), "");
  EXPECT_NE(why(kAllReduce, "hierarchical(ring,two_shot)", Protocol::kSimple).find("two_shot"),
            std::string::npos);
  EXPECT_NE(why(kAllReduce, "hierarchical(ring,direct,ring)", Protocol::kSimple).find("direct"),
            std::string::npos);
  EXPECT_NE(why(kAllReduce, "hierarchical(direct,ring)", Protocol::kLl).find("ll"),
            std::string::npos);
  EXPECT_NE(why(kAllReduce, "hierarchical(pairwise,ring)", Protocol::kSimple).find("all_gather"),
            std::string::npos);
  EXPECT_NE(why(Collective::kAllToAll, "hierarchical(naive_root,pairwise)", Protocol::kSimple), "");
  EXPECT_NE(why(Collective::kAllToAll, "hierarchical(direct,pairwise,pairwise)", Protocol::kSimple),
            "");
  EXPECT_NE(why(Collective::kGather, "hierarchical(direct,ring)", Protocol::kSimple), "");
}

TEST(HierarchicalLevelsTest, BuildersRefuseWhatCannotBe) {
  const RankPlacement placement = PlaceRanks(Even(2, 2), RankOrder::kBlock);
  Subject subject{.placement = &placement};
  const auto build = [&] { subject.row().build(subject.shape(), 0, subject.parameters()); };
  EXPECT_NO_THROW(build());
  subject.levels = {.intra = "ring", .rack = {}, .inter = "two_shot"};
  EXPECT_THROW(build(), std::invalid_argument);
  subject.levels = {.intra = "ring", .rack = "ring", .inter = "ring"};
  EXPECT_NO_THROW(build());  // one rack
  const RankPlacement unlike = {.node_of_rank = {0, 1, 2}, .rack_of_node = {0, 0, 1}};
  subject.placement = &unlike;
  EXPECT_THROW(build(), std::invalid_argument);
  EXPECT_NE(WhyNotHierarchical(subject.collective, subject.parameters()), "");
  for (const RankPlacement& wrong :
       {RankPlacement{.node_of_rank = {0, 2}}, RankPlacement{.node_of_rank = {-1, 0}},
        RankPlacement{.node_of_rank = {0, 1}, .rack_of_node = {0}}}) {
    EXPECT_THROW(NodesByRack(wrong), std::invalid_argument);
  }
}

TEST(HierarchicalLevelsTest, UsualLevelsFitAndHaveRacksWhereThereAreSome) {
  const RankPlacement racks = WithRacks(PlaceRanks(Even(4, 2), RankOrder::kBlock), 2);
  for (const Collective collective : testing::HierarchicalCollectives()) {
    for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl}) {
      int with_rack = 0;
      for (const Levels& levels : UsualLevels(collective, protocol, &racks)) {
        EXPECT_EQ(WhyUnfit(collective, levels, protocol), "");
        with_rack += levels.rack.empty() ? 0 : 1;
      }
      EXPECT_EQ(with_rack > 0, collective != Collective::kAllToAll);
    }
  }
}

}  // namespace
}  // namespace hockney
