#include "bench/training/device_step_ground.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/agree.h"

namespace hockney {
namespace {

// A call for whatever thread communicates.
class CallOnDevice : public Prepared {
 public:
  CallOnDevice(Device& device, std::unique_ptr<DeviceCall> call)
      : device_(device), call_(std::move(call)) {}
  void Run() override {
    device_.UseHere();
    call_->Run();
  }

 private:
  Device& device_;
  std::unique_ptr<DeviceCall> call_;
};

}  // namespace

DeviceStepGround::DeviceStepGround(const StepGroundParts& parts, const StepGroundOptions& options)
    : wire_(MakeHostWire(parts.session, parts.local, options.interfaces, parts.beside)) {
  RunOnAllOrThrow(parts.session,
                  [&] { host_ = MakeSegment(std::max<std::size_t>(parts.arena_bytes, 1)); });
  ground_ = std::make_unique<DeviceGround>(
      parts.session, parts.local,
      DeviceGround::Parts{*options.device, wire_.get(), host_.mapping->bytes()},
      DeviceGround::Options{.domain = StepDomain(parts, kDeviceSlotRoomBytes),
                            .kind = options.peer_memory,
                            .path = options.path,
                            .timeout_seconds = options.executor.timeout_seconds});
  if (options.implementation == StepImplementation::kNccl)
    nccl_.Connect(parts.session, ground_->device());
}

std::unique_ptr<Prepared> DeviceStepGround::Prepare(const Call& call, const Algorithm& row,
                                                    const CallFlow& flow) {
  return std::make_unique<CallOnDevice>(ground_->device(), ground_->Prepare(call, row, flow));
}

std::string DeviceStepGround::Library() const {
  return nccl_.version.empty() ? "" : fmt::format("NCCL {} ({})", nccl_.version, nccl_.file);
}

std::unique_ptr<Prepared> DeviceStepGround::PrepareByLibrary(const Call& call) {
  return std::make_unique<CallOnDevice>(ground_->device(),
                                        nccl_.baseline->Prepare(ground_->OnDevice(call)));
}

}  // namespace hockney
