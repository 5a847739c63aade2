#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "collectives/executors/cuda/device.h"
#include "collectives/executors/executor.h"

namespace hockney {

// Waits until the device has done all that is in its queue, by a mark it enqueues; calls
// `meanwhile`, if there is one, again and again until then.
void WaitForQueue(DeviceMark& end, const std::function<void()>& meanwhile = {});

// Each enqueues the same thing `count` times, waits, and returns the seconds of one by the device's
// clock.
double TimeLaunch(Device& device, DeviceLaunch& launch, int count);
double TimeCopy(Device& device, std::byte* to, const std::byte* from, std::size_t bytes, int count);

// While it lives, what is enqueued does not begin (Device::Hold).
class HeldQueue {
 public:
  explicit HeldQueue(Device& device) : device_(device) { device_.Hold(); }
  HeldQueue(const HeldQueue&) = delete;
  HeldQueue& operator=(const HeldQueue&) = delete;
  ~HeldQueue() { device_.Release(); }

 private:
  Device& device_;
};

// A collective on a device. Run is two parts, so that several calls can be enqueued before they are
// waited for, all together: what one of them needs of the host may be what another waits for.
class DeviceCall : public Prepared {
 public:
  explicit DeviceCall(Device& device) : end_(device.MakeMark()) {}

  void Run() final;
  virtual DeviceLaunch& launch() = 0;

 protected:
  friend void WaitForCalls(std::span<DeviceCall* const> calls);
  friend class GraphCall;

  // The host begins to wait: deadlines count from here.
  virtual void StartWaiting() {}
  // What the host does for the call while it is in the queue, and until nothing it sent is still
  // leaving; called again and again. Throws if the end will not come.
  virtual void Progress() {}
  // After the end of the queue: throws TimeoutError if the call was not completed.
  virtual void CheckCompleted() {}
  // Whether nothing it sent is still leaving; "" or, once that took too long, why not.
  virtual bool has_left() { return true; }
  virtual std::string WhyNotLeft() { return ""; }

 private:
  std::unique_ptr<DeviceMark> end_;
};

// Waits for all that is in the queue, which holds these calls of one device. Throws as they do.
void WaitForCalls(std::span<DeviceCall* const> calls);

}  // namespace hockney
