#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/executors/connection.h"
#include "collectives/executors/cuda/device.h"
#include "collectives/executors/segment_plan.h"

namespace hockney {

class RemoteProxy;

// One rank of a peer-memory domain as its device sees it: the ends of its connections, whose
// counters run on over all calls, in memory of the device.
class DeviceRank {
 public:
  // `segments[r]` is where rank r's segment begins as this device reaches it, zeroed and laid out
  // by the plan, which counts the ranks that have one; null for ranks of other hosts, which `proxy`
  // connects to.
  struct Place {
    int rank = 0;
    std::span<std::byte* const> segments;
    RemoteProxy* proxy = nullptr;
  };
  // Writes this rank's own counters. No rank may run anything before all have been made. Device,
  // segments and proxy outlive the rank.
  DeviceRank(Device& device, const SegmentPlan& plan, const Place& place,
             std::uint64_t first_count = 0);

  Device& device() const { return device_; }
  const SegmentPlan& plan() const { return plan_; }
  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(segments_.size()); }
  // Whether its memory can be reached.
  bool IsLocal(int rank) const { return segments_.at(rank) != nullptr; }
  RemoteProxy* proxy() const { return proxy_; }  // null: all ranks are local
  std::byte* arena(int rank) const { return segments_.at(rank) + plan_.ControlBytes(); }
  Connection* connections() const;
  // Ends every wait of this rank's blocks once it is not 0; memory of the host.
  std::atomic<std::uint32_t>& abort() const;

 private:
  std::vector<Connection> MakeEnds(std::uint64_t first_count) const;

  Device& device_;
  SegmentPlan plan_;
  int rank_;
  std::vector<std::byte*> segments_;
  RemoteProxy* proxy_;
  std::shared_ptr<DeviceBuffer> connections_;
  std::shared_ptr<DeviceBuffer> abort_;
};

}  // namespace hockney
