#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/executors/cuda/device_queue.h"

namespace hockney {

// Times calls on a device, together with the other ranks, who all do the same. Each function
// returns this rank's own nanoseconds, for all the calls together.
class DeviceClock {
 public:
  // `barrier` of all ranks, prepared on `device`. Both outlive the clock.
  DeviceClock(Device& device, DeviceCall& barrier);

  // By the device's clock: from the barrier, which is in the device's queue before it, to the end
  // of the call. The host has enqueued everything before any of it begins, so that what a launch
  // costs the host is not in it.
  std::int64_t TimeIsolated(DeviceCall& call);
  // By the host's clock: from after the barrier, until calls that are enqueued one behind the other
  // have ended. As users' programs see it: launches included.
  std::int64_t TimeStreamed(std::span<DeviceCall* const> calls);
  // What the host needs to enqueue the barrier, in nanoseconds (median of several).
  double LaunchNs();

 private:
  Device& device_;
  DeviceCall& barrier_;
  std::unique_ptr<DeviceMark> begin_;
  std::unique_ptr<DeviceMark> end_;
};

// Calls as one, by a graph that the device repeats without the host. All use the same connections
// or communicator, so the host does for one what it does for all.
class GraphCall : public DeviceCall {
 public:
  // Captures them; they outlive it.
  GraphCall(Device& device, std::span<DeviceCall* const> calls);
  DeviceLaunch& launch() override { return *graph_; }

 protected:
  void StartWaiting() override;
  void Progress() override;
  void CheckCompleted() override;
  bool has_left() override { return calls_.front()->has_left(); }
  std::string WhyNotLeft() override { return calls_.front()->WhyNotLeft(); }

 private:
  std::vector<DeviceCall*> calls_;
  std::unique_ptr<DeviceLaunch> graph_;
};

// A copy within the memory of a device, which bounds what a collective can do there.
class DeviceCopy : public DeviceCall {
 public:
  // Copies the first half of `room` into the second.
  DeviceCopy(Device& device, std::span<std::byte> room);
  DeviceLaunch& launch() override { return copy_; }
  std::size_t bytes() const { return copy_.bytes(); }  // read, and written

 private:
  class Launch : public DeviceLaunch {
   public:
    Launch(Device& device, std::span<std::byte> room) : device_(device), room_(room) {}
    std::size_t bytes() const { return room_.size() / 2; }
    void Enqueue() override { device_.EnqueueCopy(room_.data() + bytes(), room_.data(), bytes()); }

   private:
    Device& device_;
    std::span<std::byte> room_;
  };

  Launch copy_;
};

}  // namespace hockney
