#include "tuner/training/rank_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum ParallelDimension;

constexpr ParallelDimension kAllDimensions[] = {kTensor,      kContext, kData,         kPipeline,
                                                kDataContext, kExpert,  kExpertTensor, kExpertData};

std::string MessageOf(const std::string& text, std::int64_t ranks) {
  try {
    return Text(ParseDegrees(text, ranks));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

std::vector<std::int64_t> MembersOf(const std::string& text, std::int64_t ranks,
                                    ParallelDimension dimension, std::int64_t rank) {
  return Members(GroupOf(ParseDegrees(text, ranks), dimension, rank));
}

TEST(RankLayoutTest, ReadsDegreesAndFillsInTheDataParallelOnes) {
  EXPECT_EQ(MessageOf("tp=2,pp=2,dp=2", 8), "tp=2,cp=1,dp=2,pp=2");
  EXPECT_EQ(MessageOf("pp=2,tp=2", 8), "tp=2,cp=1,dp=2,pp=2");
  EXPECT_EQ(MessageOf("", 5), "tp=1,cp=1,dp=5,pp=1");
  EXPECT_EQ(MessageOf("ep=4,tp=2", 8), "tp=2,cp=1,dp=4,pp=1,ep=4,etp=2");
  EXPECT_EQ(MessageOf("tp=2,pp=16,ep=64,etp=1", 1024), "tp=2,cp=1,dp=32,pp=16,ep=64,etp=1");
}

TEST(RankLayoutTest, SaysWhichNumberDoesNotDivide) {
  EXPECT_EQ(MessageOf("tp=3,pp=2", 8),
            "\"tp=3,pp=2\": 8 ranks are not a multiple of tp 3 x cp 1 x pp 2 = 6");
  EXPECT_EQ(MessageOf("tp=2,dp=3", 8),
            "\"tp=2,dp=3\": tp 2 x cp 1 x dp 3 x pp 1 = 6 ranks, expected the 8 there are");
  EXPECT_EQ(
      MessageOf("tp=2,ep=3", 8),
      "\"tp=2,ep=3\": the 8 ranks of a stage (tp 2 x cp 1 x dp 4) are not a multiple of etp 2 "
      "x ep 3 = 6");
  for (const char* text : {"xp=2", "tp", "tp=", "tp=x", "tp=0", "tp=-2", "tp=2x", "=2", ",", "tp 2",
                           "tp=2,,pp=2", "tp=99999999999999999999"}) {
    EXPECT_THAT(MessageOf(text, 8), HasSubstr("expected tp, cp, dp, pp, ep or etp")) << text;
  }
  EXPECT_THAT(MessageOf("tp=2,tp=2", 8), HasSubstr("tp given twice"));
  EXPECT_THAT(MessageOf("tp=4611686018427387904,pp=4611686018427387904", 8),
              HasSubstr("8 ranks are not a multiple of"));
}

// The golden rows of the source chapters, by their ids.
TEST(RankLayoutTest, ProductsAreThoseOfTheChapters) {
  EXPECT_EQ(ParseDegrees("", 8).dp, 8);                                    // S001-030
  EXPECT_EQ(ParseDegrees("", 64).dp, 64);                                  // S001-031
  EXPECT_EQ(ParseDegrees("tp=8", 64).dp, 8);                               // S001-049
  EXPECT_EQ(RanksOfReplica(ParseDegrees("tp=8,pp=2", 64)), 16);            // S001-050
  EXPECT_EQ(ParseDegrees("tp=8,pp=2", 64).dp, 4);                          // S001-069
  EXPECT_EQ(RanksOfReplica(ParseDegrees("tp=8,cp=2", 64)), 16);            // S001-072
  EXPECT_EQ(RanksOfWorld({.tp = 8, .dp = 8, .pp = 1}), 64);                // S001-077
  EXPECT_EQ(RanksOfWorld({.tp = 8, .dp = 2, .pp = 4}), 64);                // S001-078
  EXPECT_EQ(RanksOfWorld({.tp = 8, .dp = 16, .pp = 4}), 512);              // S002-054
  EXPECT_EQ(RanksOfWorld({.tp = 8, .cp = 16, .dp = 8, .pp = 16}), 16384);  // S003-014
  EXPECT_EQ(RanksOfWorld({.tp = 8, .dp = 64, .pp = 16}), 8192);            // S003-025
  EXPECT_EQ(RanksOfReplica(ParseDegrees("tp=8,pp=16", 8192)), 128);        // S003-030
}

// Megatron's own example: 16 ranks, tp 2, pp 4.
TEST(RankLayoutTest, NeighboursAreTensorParallelAndStagesAreFurthestApart) {
  EXPECT_THAT(MembersOf("tp=2,pp=4", 16, kTensor, 5), ElementsAre(4, 5));
  EXPECT_THAT(MembersOf("tp=2,pp=4", 16, kData, 0), ElementsAre(0, 2));
  EXPECT_THAT(MembersOf("tp=2,pp=4", 16, kData, 15), ElementsAre(13, 15));
  EXPECT_THAT(MembersOf("tp=2,pp=4", 16, kPipeline, 6), ElementsAre(2, 6, 10, 14));
  EXPECT_THAT(MembersOf("tp=2,cp=2", 8, kContext, 1), ElementsAre(1, 3));
  EXPECT_THAT(MembersOf("tp=2,cp=2", 8, kData, 1), ElementsAre(1, 5));
  EXPECT_THAT(MembersOf("tp=2,cp=2", 8, kDataContext, 1), ElementsAre(1, 3, 5, 7));
}

TEST(RankLayoutTest, ExpertGroupsAreTakenOutOfTheStage) {
  EXPECT_THAT(MembersOf("tp=2,ep=2", 8, kExpert, 1), ElementsAre(1, 3));
  EXPECT_THAT(MembersOf("tp=2,ep=2", 8, kExpertData, 1), ElementsAre(1, 5));
  EXPECT_THAT(MembersOf("tp=2,ep=2", 8, kExpertTensor, 7), ElementsAre(6, 7));
  // Context-parallel ranks count as data-parallel ones to an expert.
  EXPECT_THAT(MembersOf("cp=2,ep=4", 8, kExpert, 6), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(MembersOf("tp=2,ep=8,etp=1", 8, kExpert, 3), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(PlaceOf(ParseDegrees("tp=2,ep=2", 8), 6).ep, 1);
}

TEST(RankLayoutTest, GroupsPartitionTheWorldAndHoldTheirRank) {
  const ParallelDegrees layouts[] = {
      {}, {2, 3, 4, 5, 2, 1}, {4, 1, 6, 2, 3, 0}, {1, 2, 8, 3, 16, 1}};
  for (const ParallelDegrees& degrees : layouts) {
    for (const ParallelDimension dimension : kAllDimensions) {
      std::set<std::vector<std::int64_t>> groups;
      std::size_t members = 0;
      for (std::int64_t rank = 0; rank < RanksOfWorld(degrees); ++rank) {
        const auto group = Members(GroupOf(degrees, dimension, rank));
        EXPECT_TRUE(std::count(group.begin(), group.end(), rank) == 1);
        if (groups.insert(group).second) members += group.size();
      }
      EXPECT_EQ(static_cast<std::int64_t>(members), RanksOfWorld(degrees)) << Text(degrees);
    }
  }
}

TEST(RankLayoutTest, PlacesAreThoseInTheGroups) {
  const ParallelDegrees degrees{2, 3, 4, 5, 2, 1};
  for (std::int64_t rank = 0; rank < RanksOfWorld(degrees); ++rank) {
    const LayoutPlace place = PlaceOf(degrees, rank);
    EXPECT_EQ(rank, place.tp + 2 * (place.cp + 3 * (place.dp + 4 * place.pp)));
    EXPECT_EQ(Members(GroupOf(degrees, kTensor, rank))[place.tp], rank);
    EXPECT_EQ(Members(GroupOf(degrees, kContext, rank))[place.cp], rank);
    EXPECT_EQ(Members(GroupOf(degrees, kData, rank))[place.dp], rank);
    EXPECT_EQ(Members(GroupOf(degrees, kPipeline, rank))[place.pp], rank);
    EXPECT_EQ(Members(GroupOf(degrees, kExpert, rank))[place.ep], rank);
  }
  EXPECT_THROW(PlaceOf(degrees, 120), std::invalid_argument);
  EXPECT_THROW(GroupOf(degrees, kData, -1), std::invalid_argument);
}

TransformerShape Llama8B() {
  TransformerShape shape;
  shape.layers = 32;
  shape.hidden = 4096;
  shape.heads = 32;
  shape.key_value_heads = 8;
  shape.head_size = 128;
  shape.feed_forward = 14336;
  shape.vocabulary = 128256;
  return shape;
}

TEST(RankLayoutTest, SaysWhatOfAModelDoesNotDivide) {
  const TransformerShape llama = Llama8B();
  EXPECT_EQ(WhyNotSplit({.tp = 8, .cp = 2, .pp = 4}, llama, 8192, 2), "");
  EXPECT_EQ(WhyNotSplit({.tp = 16}, llama, 8192), "");  // each key-value head on two ranks
  EXPECT_EQ(WhyNotSplit({.cp = 2}, llama, 8190), "8190 tokens are not a multiple of 2 x cp 2");
  EXPECT_EQ(WhyNotSplit({.tp = 8}, llama, 8190), "8190 tokens are not a multiple of cp 1 x tp 8");
  EXPECT_EQ(
      WhyNotSplit({.pp = 3}, llama, 8192),
      "32 layers are not a multiple of 3 pipeline stages, nor are 34 with embedding and head");
  EXPECT_THAT(WhyNotSplit({.pp = 4}, llama, 8192, 3), HasSubstr("of 12 pipeline stages"));
  EXPECT_EQ(WhyNotSplit({.dp = 2, .ep = 2}, llama, 8192),
            "ep 2 for a dense model, which has no experts");
  EXPECT_EQ(
      WhyNotSplit({.tp = 7}, llama, 8190),
      "32 heads are not a multiple of tp 7; 8 key-value heads are not a multiple of tp 7, nor "
      "a divisor; 4096 columns of the hidden size are not a multiple of tp 7");
}

TEST(RankLayoutTest, ExpertsHaveToDivide) {
  TransformerShape mixture = Llama8B();
  mixture.experts = 8;
  EXPECT_EQ(WhyNotSplit({.dp = 8, .ep = 8}, mixture, 8192), "");
  EXPECT_EQ(WhyNotSplit({.dp = 3, .ep = 3}, mixture, 8192), "8 experts are not a multiple of ep 3");
  mixture.feed_forward = 14338;  // which is split by etp, not tp
  EXPECT_EQ(WhyNotSplit({.tp = 4, .dp = 2, .ep = 8, .etp = 1}, mixture, 8192), "");
  EXPECT_THAT(WhyNotSplit({.tp = 4, .dp = 8, .ep = 8}, mixture, 8192),
              HasSubstr("14338 columns of the feed-forward size are not a multiple of etp 4"));
}

}  // namespace
}  // namespace hockney
