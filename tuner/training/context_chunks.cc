#include "tuner/training/context_chunks.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace hockney {
namespace {

// The sum over all i <= x of min(max(i, 0), most).
std::int64_t SumOfClamped(std::int64_t x, std::int64_t most) {
  const std::int64_t rising = std::clamp<std::int64_t>(x, 0, most);
  return rising * (rising + 1) / 2 + std::max<std::int64_t>(x - most, 0) * most;
}

// Query q sees min(max(q + 1 - keys.first, 0), number of keys) of the keys.
std::int64_t PairsOfRanges(const TokenRange& queries, const TokenRange& keys) {
  const std::int64_t most = keys.end - keys.first;
  return SumOfClamped(queries.end - keys.first, most) -
         SumOfClamped(queries.first - keys.first, most);
}

}  // namespace

std::vector<TokenRange> TokensOfRank(ContextLayout layout, std::int64_t tokens, std::int64_t ranks,
                                     std::int64_t rank) {
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    throw std::invalid_argument(fmt::format(
        "rank {} of {} context-parallel ranks, expected 0 up to the last", rank, ranks));
  }
  if (ranks == 1) return {{0, tokens}};
  const bool balanced = layout == ContextLayout::kBalanced;
  const std::int64_t chunks = balanced ? 2 * ranks : ranks;
  if (tokens < chunks || tokens % chunks != 0) {
    throw std::invalid_argument(
        fmt::format("{} tokens, expected a multiple of the {} chunks of {} context-parallel ranks",
                    tokens, chunks, ranks));
  }
  const std::int64_t length = tokens / chunks;
  std::vector<TokenRange> ranges = {{rank * length, (rank + 1) * length}};
  if (balanced) {
    const std::int64_t mirrored = chunks - 1 - rank;
    ranges.push_back({mirrored * length, (mirrored + 1) * length});
  }
  return ranges;
}

std::int64_t CausalPairs(std::span<const TokenRange> queries, std::span<const TokenRange> keys) {
  std::int64_t pairs = 0;
  for (const TokenRange& query_range : queries) {
    for (const TokenRange& key_range : keys) pairs += PairsOfRanges(query_range, key_range);
  }
  return pairs;
}

std::vector<std::int64_t> PairsOfRingSteps(ContextLayout layout, std::int64_t tokens,
                                           std::int64_t ranks, std::int64_t rank) {
  const std::vector<TokenRange> queries = TokensOfRank(layout, tokens, ranks, rank);
  std::vector<std::int64_t> pairs;
  for (std::int64_t step = 0; step < ranks; ++step) {
    const std::int64_t owner = (rank - step + ranks) % ranks;
    pairs.push_back(CausalPairs(queries, TokensOfRank(layout, tokens, ranks, owner)));
  }
  return pairs;
}

std::string Text(std::span<const TokenRange> ranges) {
  std::string text;
  for (const TokenRange& range : ranges) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", range.first, range.end - 1);
  }
  return text;
}

}  // namespace hockney
