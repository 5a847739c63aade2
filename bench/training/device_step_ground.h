#pragma once

#include <memory>
#include <string>

#include "bench/device/device_ground.h"
#include "bench/device/nccl_rows.h"
#include "bench/training/step_ground.h"
#include "collectives/memory/shared_segment.h"

namespace hockney {

// On memory of devices; the library is NCCL.
class DeviceStepGround : public StepGround {
 public:
  DeviceStepGround(const StepGroundParts& parts, const StepGroundOptions& options);

  std::span<std::byte> arena() const override { return host_.mapping->bytes(); }
  const FlowLimits& limits() const override { return ground_->limits(); }
  std::unique_ptr<Prepared> Prepare(const Call& call, const Algorithm& row,
                                    const CallFlow& flow) override;
  std::string Library() const override;
  std::string WhyNoLibrary() const override { return nccl_.reason; }
  std::string WhyNot(const Call& call) const override { return nccl_.baseline->WhyNot(call); }
  std::unique_ptr<Prepared> PrepareByLibrary(const Call& call) override;
  void Upload(const BufferSet& set) const override { ground_->Upload(set); }
  void Download(const BufferSet& set) const override { ground_->Download(set); }

 private:
  std::unique_ptr<UcxWire> wire_;  // null: all ranks are on this host
  OwnSegment host_;                // whose image the arena on the device is
  std::unique_ptr<DeviceGround> ground_;
  NcclRow nccl_ = {.library = "libnccl.so.2"};
};

}  // namespace hockney
