#pragma once

#include <memory>

#include "collectives/executors/cuda/device.h"

namespace hockney::testing {

// Threads of this CPU as a Device: a block is `Options::threads` of them, memory is memfds, whose
// descriptors other processes open. Of types and operators it has some of each kind.
struct ThreadDeviceOptions {
  int resident_blocks = 1 << 10;
};
std::unique_ptr<Device> MakeThreadDevice(const ThreadDeviceOptions& options = {});

}  // namespace hockney::testing
