#pragma once

#include <memory>
#include <string>

#include "collectives/executors/cuda/device.h"

namespace hockney {

// GPUs as devices. What follows can be called in every build, also without CUDA.

// Whether this build has CUDA, and with which toolkit: "compiled with CUDA 13.0, never run on a
// GPU" or "not compiled: built without nvcc".
std::string CudaBuildStatus();

// How many GPUs this process sees, and why there are none: "" if there are any.
struct CudaDevices {
  int count = 0;
  std::string reason = {};
};
CudaDevices FindCudaDevices();

// Opens GPU `ordinal`, for the calling thread. Throws EnvironmentError, with the reason, if there
// is no such GPU or it cannot run what is needed (blocks that wait for each other).
std::unique_ptr<Device> OpenCudaDevice(int ordinal);

}  // namespace hockney
