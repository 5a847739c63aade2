#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "collectives/executors/cuda/device.h"

namespace hockney::testing {

// Threads of this CPU as a Device: a block is `Options::threads` of them, memory is memfds, whose
// descriptors other processes open.
struct ThreadDeviceOptions {
  int resident_blocks = 1 << 10;
  bool corrupts = false;  // what is read from it has a wrong byte
  std::size_t cache_bytes = std::size_t{1} << 20;
  std::string id = "cpu";
  void* stream = nullptr;  // what it says its stream is; no memory is there
};
std::unique_ptr<Device> MakeThreadDevice(const ThreadDeviceOptions& options = {});

}  // namespace hockney::testing
