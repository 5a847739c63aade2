#include "collectives/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

constexpr std::size_t kCutAlignment = 128;

std::size_t CeilDivide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Part `index` of `parts` of a range of `bytes`: equal parts on 128-byte offsets, tail last.
ByteRange CutPart(std::size_t bytes, std::size_t parts, std::size_t index) {
  const std::size_t part = CeilDivide(CeilDivide(bytes, parts), kCutAlignment) * kCutAlignment;
  const std::size_t begin = std::min(bytes, part * index);
  return {.offset = begin, .bytes = std::min(bytes - begin, part)};
}

bool IsOwnBlockCollective(Collective c) {
  return c == Collective::kReduceScatter || c == Collective::kAllGather ||
         c == Collective::kGather || c == Collective::kScatter;
}

std::size_t ExpectedCounts(Collective c, int ranks) {
  if (c == Collective::kBarrier) return 0;
  if (c == Collective::kAllToAllV) return static_cast<std::size_t>(ranks) * ranks;
  return IsOwnBlockCollective(c) ? ranks : 1;
}

// Which side of the collective holds one block of each rank (kLong), one block (kShort), or nothing
// at this rank.
enum class Side { kNone, kShort, kLong };

Side SideOf(const Counts& c, int rank, Buffer buffer) {
  const bool input = buffer == Buffer::kInput;
  const bool at_root = rank == c.root;
  switch (c.collective) {
    case Collective::kAllReduce:
    case Collective::kSendRecv:
      return Side::kShort;
    case Collective::kBroadcast:
      return input && !at_root ? Side::kNone : Side::kShort;
    case Collective::kReduce:
      return !input && !at_root ? Side::kNone : Side::kShort;
    case Collective::kReduceScatter:
      return input ? Side::kLong : Side::kShort;
    case Collective::kAllGather:
      return input ? Side::kShort : Side::kLong;
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return Side::kLong;
    case Collective::kGather:
      if (input) return Side::kShort;
      return at_root ? Side::kLong : Side::kNone;
    case Collective::kScatter:
      if (!input) return Side::kShort;
      return at_root ? Side::kLong : Side::kNone;
    case Collective::kBarrier:
      return Side::kNone;
  }
  throw std::invalid_argument("unknown collective");
}

bool HasBlocks(Collective c) {
  return IsOwnBlockCollective(c) || c == Collective::kAllToAll || c == Collective::kAllToAllV;
}

}  // namespace

Counts EvenCounts(const Shape& shape, std::uint64_t count) {
  Counts result{
      .collective = shape.collective, .ranks = shape.ranks, .root = shape.root, .counts = {}};
  result.counts.assign(ExpectedCounts(shape.collective, shape.ranks), count);
  if (shape.collective != Collective::kAllToAllV) return result;
  // Pair (r, d) moves count * (1/2, 1 or 3/2) elements by (r + d) mod 3: rank totals stay near
  // ranks * count.
  for (int from = 0; from < shape.ranks; ++from) {
    for (int to = 0; to < shape.ranks; ++to) {
      const std::uint64_t half = count / 2;
      const int kind = (from + to) % 3;
      result.counts[from * shape.ranks + to] =
          kind == 0 ? count : (kind == 1 ? half : count + half);
    }
  }
  return result;
}

Layout::Layout(Counts counts, DataType type, Cut cut)
    : counts_(std::move(counts)),
      type_(type),
      cut_(std::move(cut)),
      element_bytes_(ElementBytes(type)) {
  const int ranks = counts_.ranks;
  if (ranks < 1 || cut_.lanes < 1 || cut_.chunks < 1 || cut_.scratch_copies < 1) {
    throw std::invalid_argument("Layout: ranks, lanes and chunks must be at least 1");
  }
  ReadGrid();
  if (counts_.counts.size() != ExpectedCounts(counts_.collective, ranks)) {
    throw std::invalid_argument("Layout: " + std::string(Name(counts_.collective)) + " of " +
                                std::to_string(ranks) + " ranks got " +
                                std::to_string(counts_.counts.size()) + " counts");
  }
  const bool by_pair = counts_.collective == Collective::kAllToAllV;
  const int rows = by_pair ? ranks : 1;
  const auto add = [](std::size_t a, std::size_t b) {
    if (b > std::numeric_limits<std::size_t>::max() / 2 - a) {
      throw std::invalid_argument("Layout: the counts exceed 64-bit byte offsets");
    }
    return a + b;
  };
  for (int row = 0; row < rows; ++row) {
    for (const bool column : {false, true}) {
      auto& prefix = column ? output_prefix_ : input_prefix_;
      std::size_t offset = 0;
      for (int block = 0; block < ranks; ++block) {
        prefix.push_back(offset);
        std::uint64_t n = 0;
        if (by_pair) {
          n = counts_.counts[column ? block * ranks + row : row * ranks + block];
        } else if (!counts_.counts.empty()) {
          n = counts_.counts[counts_.counts.size() == 1 ? 0 : block];
        }
        if (n > std::numeric_limits<std::size_t>::max() / 16) {
          throw std::invalid_argument("Layout: count " + std::to_string(n) +
                                      " exceeds 64-bit bytes");
        }
        largest_block_ = std::max(largest_block_, n * element_bytes_);
        offset = add(offset, n * element_bytes_);
      }
      prefix.push_back(offset);
    }
  }
}

// Every block, or part, must be in the grid once.
void Layout::ReadGrid() {
  const std::vector<std::int32_t>& grid = cut_.grid;
  if (grid.empty()) return;
  const auto size = static_cast<int>(grid.size());
  const int holes = static_cast<int>(std::count(grid.begin(), grid.end(), -1));
  const bool blocks = HasBlocks(counts_.collective);
  std::vector<int> place(blocks ? counts_.ranks : size - holes, -1);
  for (int i = 0; i < size; ++i) {
    if (grid[i] == -1) continue;
    if (grid[i] < 0 || grid[i] >= static_cast<int>(place.size()) || place[grid[i]] >= 0) {
      throw std::invalid_argument("Layout: a grid that has " + std::to_string(grid[i]) +
                                  " twice or among too few");
    }
    place[grid[i]] = i;
  }
  if (size - holes != static_cast<int>(place.size())) {
    throw std::invalid_argument("Layout: a grid without some block");
  }
  if (blocks) {
    block_of_rank_ = std::move(place);
    return;
  }
  parts_ = size;
  filled_parts_ = size - holes;
  if (filled_parts_ == 0 || cut_.chunks % parts_ != 0) {
    throw std::invalid_argument("Layout: chunks that are no multiple of the grid");
  }
}

int Layout::LongBlocks() const {
  return cut_.grid.empty() ? counts_.ranks : static_cast<int>(cut_.grid.size());
}

int Layout::Blocks(int rank, Buffer buffer) const {
  if (buffer == Buffer::kScratch) {
    if (counts_.collective == Collective::kBarrier) return 0;
    return (HasBlocks(counts_.collective) ? LongBlocks() : 1) * cut_.scratch_copies;
  }
  switch (SideOf(counts_, rank, buffer)) {
    case Side::kNone:
      return 0;
    case Side::kShort:
      return 1;
    case Side::kLong:
      return LongBlocks();
  }
  throw std::invalid_argument("unknown side");
}

std::span<const std::size_t> Layout::Prefix(int rank, Buffer buffer) const {
  const auto& prefix = buffer == Buffer::kOutput ? output_prefix_ : input_prefix_;
  const std::size_t row =
      counts_.collective == Collective::kAllToAllV ? static_cast<std::size_t>(rank) : 0;
  return std::span(prefix).subspan(row * (counts_.ranks + 1), counts_.ranks + 1);
}

// A short side holds the rank's own block, at offset 0.
bool Layout::HasOwnOnly(int rank, Buffer buffer) const {
  return buffer != Buffer::kScratch && IsOwnBlockCollective(counts_.collective) &&
         SideOf(counts_, rank, buffer) == Side::kShort;
}

ByteRange Layout::BlockRange(int rank, Buffer buffer, int block) const {
  const std::span<const std::size_t> prefix = Prefix(rank, buffer);
  if (HasOwnOnly(rank, buffer)) return {.offset = 0, .bytes = prefix[rank + 1] - prefix[rank]};
  if (!HasBlocks(counts_.collective)) return {.offset = 0, .bytes = prefix[1]};
  std::size_t copy = 0;
  if (block >= LongBlocks()) {
    copy = block / LongBlocks();
    block %= LongBlocks();
  }
  const int index = OwnerOf(block);
  if (index < 0) return {};
  return {.offset = copy * prefix.back() + prefix[index],
          .bytes = prefix[index + 1] - prefix[index]};
}

std::size_t Layout::BufferBytes(int rank, Buffer buffer) const {
  const int blocks = Blocks(rank, buffer);
  if (blocks == 0) return 0;
  if (HasOwnOnly(rank, buffer) || !HasBlocks(counts_.collective)) {
    return BlockRange(rank, buffer, 0).bytes;
  }
  const std::size_t copies = buffer == Buffer::kScratch ? cut_.scratch_copies : 1;
  return copies * Prefix(rank, buffer).back();
}

int Layout::ChunkCount(int rank, Buffer buffer) const {
  return Blocks(rank, buffer) * cut_.lanes * cut_.chunks;
}

ByteRange Layout::Find(int rank, Buffer buffer, int chunk) const {
  const int cuts = cut_.lanes * cut_.chunks;
  const ByteRange block = BlockRange(rank, buffer, cuts == 1 ? chunk : chunk / cuts);
  if (cuts == 1) return block;
  const int within = chunk % cuts;
  const ByteRange lane = CutPart(block.bytes, cut_.lanes, within / cut_.chunks);
  int index = within % cut_.chunks;
  if (parts_ > 1) {
    const int filled = cut_.grid[index % parts_];
    if (filled < 0) return {};
    index = index / parts_ * filled_parts_ + filled;
  }
  const ByteRange part = CutPart(lane.bytes, cut_.chunks / parts_ * filled_parts_, index);
  return {.offset = block.offset + lane.offset + part.offset, .bytes = part.bytes};
}

std::size_t Layout::LargestChunkBytes() const {
  const ByteRange lane = CutPart(largest_block_, cut_.lanes, 0);
  return CutPart(lane.bytes, cut_.chunks / parts_ * filled_parts_, 0).bytes;
}

bool Layout::IsHole(int rank, Buffer buffer, int chunk) const {
  if (cut_.grid.empty() || HasOwnOnly(rank, buffer)) return false;
  if (!HasBlocks(counts_.collective)) return cut_.grid[chunk % cut_.chunks % parts_] < 0;
  return OwnerOf(chunk / (cut_.lanes * cut_.chunks) % LongBlocks()) < 0;
}

Layout::InPlace Layout::FindInPlace(int rank) const {
  const int cuts = cut_.lanes * cut_.chunks;
  switch (counts_.collective) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
      return {.supported = true, .input_inside_output = true, .offset = 0, .chunk_offset = 0};
    case Collective::kAllGather:
    case Collective::kGather:
      return {.supported = true,
              .input_inside_output = true,
              .offset = Prefix(rank, Buffer::kOutput)[rank],
              .chunk_offset = BlockOf(rank) * cuts};
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return {.supported = true,
              .input_inside_output = false,
              .offset = Prefix(rank, Buffer::kInput)[rank],
              .chunk_offset = BlockOf(rank) * cuts};
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      return {};
  }
  throw std::invalid_argument("unknown collective");
}

}  // namespace hockney
