#include "collectives/executors/cuda/device_queue.h"

#include "topology/check.h"

namespace hockney {
namespace {

template <class Enqueue>
double TimeEach(Device& device, int count, const Enqueue& enqueue) {
  const auto begin = device.MakeMark();
  const auto end = device.MakeMark();
  begin->Enqueue();
  for (int i = 0; i < count; ++i) enqueue();
  WaitForQueue(*end);
  return end->SecondsSince(*begin) / count;
}

}  // namespace

void WaitForQueue(DeviceMark& end, const std::function<void()>& meanwhile) {
  end.Enqueue();
  while (!end.Reached()) {
    if (meanwhile) meanwhile();
  }
}

double TimeLaunch(Device& device, DeviceLaunch& launch, int count) {
  return TimeEach(device, count, [&] { launch.Enqueue(); });
}

double TimeCopy(Device& device, std::byte* to, const std::byte* from, std::size_t bytes,
                int count) {
  return TimeEach(device, count, [&] { device.EnqueueCopy(to, from, bytes); });
}

void DeviceCall::Run() {
  launch().Enqueue();
  DeviceCall* const self = this;
  WaitForCalls({&self, 1});
}

void WaitForCalls(std::span<DeviceCall* const> calls) {
  const auto progress = [&] {
    for (DeviceCall* call : calls) call->Progress();
  };
  for (DeviceCall* call : calls) call->StartWaiting();
  WaitForQueue(*calls.back()->end_, progress);
  for (DeviceCall* call : calls) call->CheckCompleted();
  // Nobody moves what is still leaving between two calls.
  for (DeviceCall* call : calls) call->StartWaiting();
  for (DeviceCall* call : calls) {
    while (!call->has_left()) {
      progress();
      const std::string reason = call->WhyNotLeft();
      if (!reason.empty()) throw TimeoutError(reason);
    }
  }
}

}  // namespace hockney
