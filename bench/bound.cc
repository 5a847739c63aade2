#include "bench/bound.h"

#include <algorithm>

#include "collectives/kernels/kernels.h"
#include "tuner/bandwidth.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

// One pass over half a room into the other half; with `other`, added to half of that.
class MemoryPass : public Prepared {
 public:
  MemoryPass(std::span<std::byte> room, const std::byte* other, std::size_t bytes,
             StorePolicy store)
      : sources_{room.data(), other},
        target_(room.data() + room.size() / 2 / kAlignment * kAlignment),
        kernel_(FindKernel(DataType::kFloat32, ReduceOp::kSum, store)) {
    args_.sources = sources_;
    args_.source_count = other == nullptr ? 1 : 2;
    args_.destinations = &target_;
    args_.destination_count = 1;
    args_.count = bytes / sizeof(float);
  }
  MemoryPass(const MemoryPass&) = delete;
  MemoryPass& operator=(const MemoryPass&) = delete;
  ~MemoryPass() override = default;

  void Run() override { kernel_(args_); }

  static constexpr std::size_t kAlignment = 4096;

 private:
  const std::byte* sources_[2];
  std::byte* target_;
  Kernel kernel_;
  KernelArgs args_;
};

}  // namespace

std::uint64_t RequiredBytes(const Layout& layout, bool in_place) {
  const Counts& counts = layout.counts();
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < counts.ranks; ++rank) {
    bytes += layout.BufferBytes(rank, Buffer::kInput) + layout.BufferBytes(rank, Buffer::kOutput);
  }
  if (!in_place) return bytes;
  // A block that is already in place is read for others, but not written again.
  switch (counts.collective) {
    case Collective::kBroadcast:
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kScatter:
      for (int rank = 0; rank < counts.ranks; ++rank) {
        const std::uint64_t input = layout.BufferBytes(rank, Buffer::kInput);
        const std::uint64_t output = layout.BufferBytes(rank, Buffer::kOutput);
        bytes -= std::min(input, output);
      }
      return bytes;
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
    case Collective::kReduce:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      return bytes;
  }
  return bytes;
}

std::vector<Competitor> MakeBoundPasses(std::span<const std::span<std::byte>> rooms, int rank) {
  std::size_t bytes = rooms[0].size();
  for (const auto& room : rooms) bytes = std::min(bytes, room.size());
  bytes = bytes / 2 / MemoryPass::kAlignment * MemoryPass::kAlignment;
  const std::size_t next = (static_cast<std::size_t>(rank) + 1) % rooms.size();
  std::vector<Competitor> passes;
  for (const StorePolicy store : {StorePolicy::kCached, StorePolicy::kNonTemporal}) {
    for (const bool reduce : {false, true}) {
      Competitor pass;
      pass.prepared.push_back(std::make_unique<MemoryPass>(
          rooms[rank], reduce ? rooms[next].data() : nullptr, bytes, store));
      pass.bound_bytes = (reduce ? 3 : 2) * bytes * rooms.size();
      passes.push_back(std::move(pass));
    }
  }
  return passes;
}

double BoundBusbw(const SweepRow& row, std::uint64_t required_bytes,
                  std::span<const Competitor> passes) {
  double best_bytes_per_us = 0;
  for (const Competitor& pass : passes) {
    if (pass.times_us.empty()) continue;
    best_bytes_per_us =
        std::max(best_bytes_per_us, static_cast<double>(pass.bound_bytes) / Median(pass.times_us));
  }
  const double time_us = static_cast<double>(required_bytes) / best_bytes_per_us;
  const double factor = BusFactor(row.collective, static_cast<int>(row.ranks)).value_or(1);
  return static_cast<double>(row.size_bytes) * factor / time_us / 1e3;
}

}  // namespace hockney
