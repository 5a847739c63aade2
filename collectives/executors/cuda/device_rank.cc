#include "collectives/executors/cuda/device_rank.h"

#include <new>
#include <stdexcept>

namespace hockney {

DeviceRank::DeviceRank(Device& device, const SegmentPlan& plan, int rank,
                       std::span<std::byte* const> segments, std::uint64_t first_count)
    : device_(device), plan_(plan), rank_(rank), segments_(segments.begin(), segments.end()) {
  if (static_cast<int>(segments.size()) != plan.ranks() || plan.ranks() > kMaxBlockRanks) {
    throw std::invalid_argument("device rank: " + std::to_string(segments.size()) +
                                " segments for " + std::to_string(plan.ranks()) +
                                " ranks, expected one each and at most " +
                                std::to_string(kMaxBlockRanks));
  }
  // The image of everything up to the counters' end, which the segment begins with.
  std::vector<ConnectionCounters> image(plan.CountersEnd() / sizeof(ConnectionCounters));
  plan.MakeCounters(reinterpret_cast<std::byte*>(image.data()), first_count);
  device.Write(segments_[rank], std::as_bytes(std::span(image)));

  std::vector<Connection> ends;
  for (int lane = 0; lane < plan.lanes(); ++lane) {
    for (int peer = 0; peer < plan.ranks(); ++peer) {
      ends.push_back(plan.Join(lane, rank, segments_[rank], peer, segments_[peer], first_count));
    }
  }
  const auto bytes = std::as_bytes(std::span(ends));
  connections_ = device.Allocate(bytes.size(), PeerMemoryKind::kCudaIpc);
  device.Write(connections_->data(), bytes);
  abort_ = device.AllocateOnHost(sizeof(std::atomic<std::uint32_t>));
  new (abort_->data()) std::atomic<std::uint32_t>(0);
}

Connection* DeviceRank::connections() const {
  return reinterpret_cast<Connection*>(connections_->data());
}

std::atomic<std::uint32_t>& DeviceRank::abort() const {
  return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(abort_->data()));
}

}  // namespace hockney
