#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hockney {

// How context parallelism shares out the tokens of a sequence. Under a causal mask later tokens
// have more keys to look at, so equal halves are unequal work.
enum class ContextLayout : std::uint8_t {
  kBalanced,    // 2 chunks a rank, one from each end: r and 2 ranks - 1 - r, as ring attention does
  kContiguous,  // one chunk a rank
};

struct TokenRange {
  std::int64_t first = 0;
  std::int64_t end = 0;  // one past the last
};

// Returns the tokens of a rank, ascending; one rank has them all. Throws std::invalid_argument if
// the tokens are no multiple of the chunks (2 x ranks, or ranks), or the rank is not one of them.
std::vector<TokenRange> TokensOfRank(ContextLayout layout, std::int64_t tokens, std::int64_t ranks,
                                     std::int64_t rank);

// Returns the pairs of a query and a key that is not after it: what attention under a causal mask
// computes.
std::int64_t CausalPairs(std::span<const TokenRange> queries, std::span<const TokenRange> keys);

// Returns the causal pairs of a rank's queries in each of the `ranks` steps of ring attention: in
// step s with the keys of rank - s (modulo ranks), which have been handed on s times. Throws as
// TokensOfRank.
std::vector<std::int64_t> PairsOfRingSteps(ContextLayout layout, std::int64_t tokens,
                                           std::int64_t ranks, std::int64_t rank);

// Returns the ranges with their last tokens, "0-2047 6144-8191".
std::string Text(std::span<const TokenRange> ranges);

}  // namespace hockney
