#pragma once

#include <cstddef>
#include <functional>

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

// A collective on a device: Run in two parts, so that several calls can be enqueued before the
// first is waited for.
class DeviceCall : public Prepared {
 public:
  void Run() final {
    launch().Enqueue();
    Wait();
  }
  virtual DeviceLaunch& launch() = 0;
  // Waits for all that is in the queue. Throws TimeoutError as Run does, where this call was not
  // completed.
  virtual void Wait() = 0;
};

}  // namespace hockney
