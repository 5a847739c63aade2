// Stands in for cuda_device.cc in builds without CUDA.
#include "collectives/executors/cuda/cuda_device.h"
#include "topology/check.h"

namespace hockney {

std::string CudaBuildStatus() { return "not compiled: built without nvcc"; }

CudaDevices FindCudaDevices() { return {.count = 0, .reason = "built without nvcc"}; }

std::unique_ptr<Device> OpenCudaDevice(int /*ordinal*/) {
  throw EnvironmentError("no GPU can be used: built without nvcc");
}

}  // namespace hockney
