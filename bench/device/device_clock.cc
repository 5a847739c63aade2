#include "bench/device/device_clock.h"

#include <cmath>
#include <vector>

#include "bench/tick.h"
#include "tuner/statistics.h"

namespace hockney {
namespace {

constexpr int kLaunches = 15;

std::vector<DeviceLaunch*> LaunchesOf(std::span<DeviceCall* const> calls) {
  std::vector<DeviceLaunch*> launches;
  launches.reserve(calls.size());
  for (DeviceCall* call : calls) launches.push_back(&call->launch());
  return launches;
}

}  // namespace

DeviceClock::DeviceClock(Device& device, DeviceCall& barrier)
    : device_(device), barrier_(barrier), begin_(device.MakeMark()), end_(device.MakeMark()) {}

std::int64_t DeviceClock::TimeIsolated(DeviceCall& call) {
  {
    const HeldQueue held(device_);
    barrier_.launch().Enqueue();
    begin_->Enqueue();
    call.launch().Enqueue();
    end_->Enqueue();
  }
  DeviceCall* const both[] = {&barrier_, &call};
  WaitForCalls(both);
  return std::llround(end_->SecondsSince(*begin_) * 1e9);
}

std::int64_t DeviceClock::TimeStreamed(std::span<DeviceCall* const> calls) {
  barrier_.Run();
  const std::int64_t begin = NowNs();
  for (DeviceCall* call : calls) call->launch().Enqueue();
  WaitForCalls(calls.last(1));  // the host does for one of them what it does for all
  const std::int64_t spent = NowNs() - begin;
  WaitForCalls(calls);  // all have ended; whether each did its work
  return spent;
}

double DeviceClock::LaunchNs() {
  std::vector<double> times;
  times.reserve(kLaunches);
  for (int i = 0; i < kLaunches; ++i) {
    const std::int64_t begin = NowNs();
    barrier_.launch().Enqueue();
    times.push_back(static_cast<double>(NowNs() - begin));
    DeviceCall* const barrier = &barrier_;
    WaitForCalls({&barrier, 1});
  }
  return Median(times);
}

GraphCall::GraphCall(Device& device, std::span<DeviceCall* const> calls)
    : DeviceCall(device),
      calls_(calls.begin(), calls.end()),
      graph_(device.MakeGraph(LaunchesOf(calls))) {}

void GraphCall::StartWaiting() {
  for (DeviceCall* call : calls_) call->StartWaiting();
}
void GraphCall::Progress() { calls_.front()->Progress(); }
void GraphCall::CheckCompleted() {
  for (DeviceCall* call : calls_) call->CheckCompleted();
}

DeviceCopy::DeviceCopy(Device& device, std::span<std::byte> room)
    : DeviceCall(device), copy_(device, room) {}

}  // namespace hockney
