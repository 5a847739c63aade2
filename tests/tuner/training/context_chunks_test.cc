#include "tuner/training/context_chunks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace hockney {
namespace {

constexpr auto kBalanced = ContextLayout::kBalanced;
constexpr auto kContiguous = ContextLayout::kContiguous;

std::int64_t Sum(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

// The golden rows of the source chapters, by their ids.
TEST(ContextChunksTest, BalancedChunksAreThoseOfTheChapter) {
  EXPECT_EQ(Text(TokensOfRank(kBalanced, 8192, 2, 0)), "0-2047 6144-8191");     // S001-073
  EXPECT_EQ(Text(TokensOfRank(kBalanced, 8192, 2, 1)), "2048-4095 4096-6143");  // S001-074
  std::int64_t queries = 0;
  for (const TokenRange& range : TokensOfRank(kBalanced, 8192, 2, 0)) {
    queries += range.end - range.first;
  }
  EXPECT_EQ(queries, 4096);  // S001-071, S001-075
}

TEST(ContextChunksTest, NaiveHalvesAreUnequalWork) {  // S001-076
  const auto first = static_cast<double>(Sum(PairsOfRingSteps(kContiguous, 8192, 2, 0)));
  const auto second = static_cast<double>(Sum(PairsOfRingSteps(kContiguous, 8192, 2, 1)));
  EXPECT_NEAR(second / first, 2.9995, 2.9995e-4);
}

TEST(ContextChunksTest, EveryTokenHasOneRank) {
  for (const ContextLayout layout : {kBalanced, kContiguous}) {
    for (const std::int64_t ranks : {1, 2, 3, 4, 7, 16}) {
      std::vector<int> owners(2 * ranks * 5, 0);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        for (const TokenRange& range :
             TokensOfRank(layout, static_cast<std::int64_t>(owners.size()), ranks, rank)) {
          for (std::int64_t token = range.first; token < range.end; ++token) ++owners[token];
        }
      }
      EXPECT_EQ(owners, std::vector<int>(owners.size(), 1)) << ranks;
    }
  }
}

TEST(ContextChunksTest, PairsAreThoseOfTheMask) {
  const std::vector<TokenRange> ranges = {{0, 3}, {2, 9}, {5, 6}, {7, 12}, {4, 4}};
  for (const TokenRange& queries : ranges) {
    for (const TokenRange& keys : ranges) {
      std::int64_t expected = 0;
      for (std::int64_t query = queries.first; query < queries.end; ++query) {
        for (std::int64_t key = keys.first; key < keys.end; ++key) expected += key <= query ? 1 : 0;
      }
      EXPECT_EQ(CausalPairs({&queries, 1}, {&keys, 1}), expected)
          << queries.first << "-" << queries.end << " x " << keys.first << "-" << keys.end;
    }
  }
}

// With chunks of c tokens: 2 c^2 + c pairs among a rank's own, 2 c^2 with those of any other rank.
TEST(ContextChunksTest, BalancedRanksWorkAlikeInEveryStep) {
  for (const std::int64_t ranks : {2, 3, 4, 8, 13}) {
    constexpr std::int64_t kChunk = 6;
    std::vector<std::int64_t> expected(ranks, 2 * kChunk * kChunk);
    expected[0] += kChunk;
    const std::int64_t tokens = 2 * ranks * kChunk;
    std::int64_t all = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::int64_t> pairs = PairsOfRingSteps(kBalanced, tokens, ranks, rank);
      EXPECT_EQ(pairs, expected) << "rank " << rank << " of " << ranks;
      all += Sum(pairs);
    }
    EXPECT_EQ(all, tokens * (tokens + 1) / 2);
  }
}

TEST(ContextChunksTest, KeysComeFromTheRankBefore) {
  const std::vector<std::int64_t> expected = {10, 16, 0};  // its own, those of rank 0, of rank 2
  EXPECT_EQ(PairsOfRingSteps(kContiguous, 12, 3, 1), expected);
}

TEST(ContextChunksTest, OneRankHasAnySequence) {
  EXPECT_EQ(Text(TokensOfRank(kBalanced, 1023, 1, 0)), "0-1022");
  EXPECT_EQ(PairsOfRingSteps(kBalanced, 7, 1, 0), std::vector<std::int64_t>{28});
}

TEST(ContextChunksTest, RefusesWhatDoesNotDivide) {
  EXPECT_THROW(TokensOfRank(kBalanced, 8190, 2, 0), std::invalid_argument);  // even, but not by 4
  EXPECT_NO_THROW(TokensOfRank(kContiguous, 8190, 2, 0));
  EXPECT_THROW(TokensOfRank(kContiguous, 8191, 2, 0), std::invalid_argument);
  EXPECT_THROW(TokensOfRank(kBalanced, 0, 2, 0), std::invalid_argument);
  EXPECT_THROW(TokensOfRank(kBalanced, 8192, 2, 2), std::invalid_argument);
  EXPECT_THROW(TokensOfRank(kBalanced, 8192, 2, -1), std::invalid_argument);
  EXPECT_THROW(TokensOfRank(kBalanced, 8192, 0, 0), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
