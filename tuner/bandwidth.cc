#include "tuner/bandwidth.h"

#include <limits>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

void RequireRanks(int ranks) {
  if (ranks < 1) throw std::invalid_argument("ranks must be at least 1: " + std::to_string(ranks));
}

// Whether the size column is the sum over the ranks' blocks.
bool CountsAllBlocks(Collective collective) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      return false;
  }
  throw std::invalid_argument("collective outside its enumeration");
}

// Bytes of the size column per unit of count; at most 2^31 * 8, so it cannot overflow.
std::uint64_t UnitBytes(Collective collective, DataType type, int ranks) {
  RequireRanks(ranks);
  const std::uint64_t blocks = CountsAllBlocks(collective) ? static_cast<std::uint64_t>(ranks) : 1;
  return blocks * ElementBytes(type);
}

}  // namespace

std::optional<double> BusFactor(Collective collective, int ranks) {
  RequireRanks(ranks);
  if (ranks == 1) return std::nullopt;
  const double n = ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return 1;
    case Collective::kBarrier:
      return std::nullopt;
  }
  throw std::invalid_argument("collective outside its enumeration");
}

std::uint64_t SizeBytes(Collective collective, std::uint64_t count, DataType type, int ranks) {
  const std::uint64_t unit = UnitBytes(collective, type, ranks);
  if (collective == Collective::kBarrier) return 0;
  if (count > std::numeric_limits<std::uint64_t>::max() / unit) {
    throw std::overflow_error("size above 2^64-1 bytes: " + std::to_string(count) +
                              " elements of " + std::to_string(unit) + " bytes");
  }
  return count * unit;
}

std::uint64_t CountForSize(Collective collective, std::uint64_t size_bytes, DataType type,
                           int ranks) {
  const std::uint64_t unit = UnitBytes(collective, type, ranks);
  return collective == Collective::kBarrier ? 0 : size_bytes / unit;
}

}  // namespace hockney
