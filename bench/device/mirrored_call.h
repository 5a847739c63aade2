#pragma once

#include "bench/buffers.h"
#include "bench/device/device_ground.h"
#include "collectives/executors/executor.h"

namespace hockney {

// A call on a device with its set's buffers brought there before and back after it, for who checks
// them on the host.
class MirroredCall : public Prepared {
 public:
  // All outlive it.
  MirroredCall(const DeviceGround& ground, const BufferSet& set, Prepared& call)
      : ground_(ground), set_(set), call_(call) {}
  void Run() override {
    ground_.Upload(set_);
    call_.Run();
    ground_.Download(set_);
  }

 private:
  const DeviceGround& ground_;
  const BufferSet& set_;
  Prepared& call_;
};

}  // namespace hockney
