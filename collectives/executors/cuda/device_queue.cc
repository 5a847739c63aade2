#include "collectives/executors/cuda/device_queue.h"

#include <sched.h>

namespace hockney {
namespace {

template <class Enqueue>
double TimeEach(Device& device, int count, const Enqueue& enqueue,
                const std::function<void()>& meanwhile) {
  const auto begin = device.MakeMark();
  const auto end = device.MakeMark();
  begin->Enqueue();
  for (int i = 0; i < count; ++i) enqueue();
  WaitForQueue(*end, meanwhile);
  return end->SecondsSince(*begin) / count;
}

}  // namespace

void WaitForQueue(DeviceMark& end, const std::function<void()>& meanwhile) {
  end.Enqueue();
  while (!end.Reached()) {
    if (meanwhile) meanwhile();
    sched_yield();
  }
}

double TimeLaunch(Device& device, DeviceLaunch& launch, int count) {
  return TimeEach(
      device, count, [&] { launch.Enqueue(); }, [&] { launch.Check(); });
}

double TimeCopy(Device& device, std::byte* to, const std::byte* from, std::size_t bytes,
                int count) {
  return TimeEach(device, count, [&] { device.EnqueueCopy(to, from, bytes); }, {});
}

}  // namespace hockney
