#include "collectives/executors/cuda/device_rank.h"

#include <new>
#include <stdexcept>
#include <string>

#include "collectives/executors/cuda/remote_proxy.h"

namespace hockney {

DeviceRank::DeviceRank(Device& device, const SegmentPlan& plan, int rank,
                       std::span<std::byte* const> segments, std::uint64_t first_count,
                       RemoteProxy* proxy)
    : device_(device),
      plan_(plan),
      rank_(rank),
      segments_(segments.begin(), segments.end()),
      proxy_(proxy) {
  std::vector<int> number(segments.size(), -1);  // among the ranks that have a segment
  int local = 0;
  for (std::size_t r = 0; r < segments.size(); ++r) {
    if (segments[r] != nullptr) number[r] = local++;
  }
  if (local != plan.ranks() || number.at(rank) < 0 || (proxy == nullptr && local != ranks())) {
    throw std::invalid_argument("device rank: " + std::to_string(local) + " segments for " +
                                std::to_string(plan.ranks()) + " local ranks");
  }
  // The image of everything up to the counters' end, which the segment begins with.
  std::vector<ConnectionCounters> image(plan.CountersEnd() / sizeof(ConnectionCounters));
  plan.MakeCounters(reinterpret_cast<std::byte*>(image.data()), first_count);
  device.Write(segments_[rank], std::as_bytes(std::span(image)));

  std::vector<Connection> ends;
  for (int lane = 0; lane < plan.lanes(); ++lane) {
    for (int peer = 0; peer < ranks(); ++peer) {
      ends.push_back(number[peer] < 0 ? proxy->DeviceEnd(lane, peer)
                                      : plan.Join(lane, number[rank], segments_[rank], number[peer],
                                                  segments_[peer], first_count));
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
