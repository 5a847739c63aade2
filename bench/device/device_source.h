#pragma once

#include <functional>
#include <memory>

#include "collectives/executors/cuda/cuda_device.h"

namespace hockney {

// Where ranks get their devices: GPUs, or what stands in for them in tests.
struct DeviceSource {
  std::function<CudaDevices()> find = FindCudaDevices;
  std::function<std::unique_ptr<Device>(int ordinal)> open = OpenCudaDevice;
};

}  // namespace hockney
