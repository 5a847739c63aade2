#include "bench/cell_buffers.h"

#include <algorithm>

#include "bench/buffers.h"

namespace hockney {
namespace {

constexpr int kLeastStreamedCalls = 4;
constexpr int kMostStreamedCalls = 128;  // each call has a buffer set of its own
constexpr std::size_t kShiftRoom = 256;  // for any shift below it

std::size_t LargestSetBytes(const Cell& cell, const Layout& layout) {
  std::size_t bytes = 0;
  for (int rank = 0; rank < cell.ranks; ++rank) {
    bytes = std::max(bytes, BufferSet::Bytes(layout, rank, cell.in_place));
  }
  return bytes;
}

int StreamedSets(const Cell& cell, std::size_t set_bytes, std::uint64_t llc_bytes) {
  const std::size_t set = set_bytes * static_cast<std::size_t>(cell.ranks);
  const std::uint64_t sets = 2 * llc_bytes / std::max<std::size_t>(set, 1);
  if (sets < kLeastStreamedCalls) return 1;
  return static_cast<int>(std::min<std::uint64_t>(sets, kMostStreamedCalls));
}

int LargestDivisor(std::uint64_t number, int most) {
  int divisor = most;
  while (number % static_cast<std::uint64_t>(divisor) != 0) --divisor;
  return divisor;
}

}  // namespace

Layout LayoutOf(const Cell& cell) {
  return Layout(EvenCounts(cell.shape(), cell.count), cell.type, Cut{});
}

BufferPlan PlanBuffers(const SweepOptions& options, const Cell& cell, std::uint64_t llc_bytes) {
  BufferPlan plan;
  plan.shift_bytes = options.unalign_elements * ElementBytes(cell.type);
  plan.set_bytes = LargestSetBytes(cell, LayoutOf(cell));
  if (plan.shift_bytes > 0) plan.set_bytes += plan.shift_bytes + kShiftRoom;
  if (options.mode == TimingMode::kIsolated) return plan;
  plan.sets = StreamedSets(cell, plan.set_bytes, llc_bytes);
  plan.calls = options.calls ? LargestDivisor(*options.calls, plan.sets) : plan.sets;
  plan.sets = std::min(plan.sets, plan.calls);
  return plan;
}

}  // namespace hockney
