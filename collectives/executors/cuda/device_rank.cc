#include "collectives/executors/cuda/device_rank.h"

#include <new>
#include <stdexcept>
#include <string>

#include "collectives/executors/cuda/remote_proxy.h"

namespace hockney {

DeviceRank::DeviceRank(Device& device, const SegmentPlan& plan, const Place& place,
                       std::uint64_t first_count)
    : device_(device),
      plan_(plan),
      rank_(place.rank),
      segments_(place.segments.begin(), place.segments.end()),
      proxy_(place.proxy) {
  // The image of everything up to the counters' end, which the segment begins with.
  std::vector<ConnectionCounters> image(plan.CountersEnd() / sizeof(ConnectionCounters));
  plan.MakeCounters(reinterpret_cast<std::byte*>(image.data()), first_count);
  device.Write(segments_.at(rank_), std::as_bytes(std::span(image)));

  const std::vector<Connection> ends = MakeEnds(first_count);
  const auto bytes = std::as_bytes(std::span(ends));
  connections_ = device.Allocate(bytes.size(), PeerMemoryKind::kCudaIpc);
  device.Write(connections_->data(), bytes);
  abort_ = device.AllocateOnHost(sizeof(std::atomic<std::uint32_t>));
  new (abort_->data()) std::atomic<std::uint32_t>(0);
}

std::vector<Connection> DeviceRank::MakeEnds(std::uint64_t first_count) const {
  std::vector<int> number(segments_.size(), -1);  // among the ranks that have a segment
  int local = 0;
  for (std::size_t r = 0; r < segments_.size(); ++r) {
    if (segments_[r] != nullptr) number[r] = local++;
  }
  if (local != plan_.ranks()) {
    throw std::invalid_argument("device rank: " + std::to_string(local) + " segments for " +
                                std::to_string(plan_.ranks()) + " local ranks");
  }
  std::vector<Connection> ends;
  for (int lane = 0; lane < plan_.lanes(); ++lane) {
    for (int peer = 0; peer < ranks(); ++peer) {
      if (number[peer] >= 0) {
        ends.push_back(plan_.Join(lane, {number[rank_], segments_[rank_]},
                                  {number[peer], segments_[peer]}, first_count));
      } else if (proxy_ != nullptr) {
        ends.push_back(proxy_->DeviceEnd(lane, peer));
      } else {
        throw std::invalid_argument("device rank: nothing connects to rank " +
                                    std::to_string(peer));
      }
    }
  }
  return ends;
}

Connection* DeviceRank::connections() const {
  return reinterpret_cast<Connection*>(connections_->data());
}

std::atomic<std::uint32_t>& DeviceRank::abort() const {
  return *std::launder(reinterpret_cast<std::atomic<std::uint32_t>*>(abort_->data()));
}

}  // namespace hockney
