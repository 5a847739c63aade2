#pragma once

#include <cstddef>
#include <memory>

#include "collectives/executors/cuda/cuda_driver.h"
#include "collectives/executors/cuda/device.h"

// Memory of a GPU by its kinds. For files that are compiled where CUDA is; functions are called
// with the device current. Compiled, never run.
namespace hockney {

// Zeroed memory of cudaMalloc. Throws EnvironmentError, naming the bytes, if there is none left.
std::shared_ptr<DeviceBuffer> AllocateCuda(std::size_t bytes);

// Zeroed memory of the host at an address that every device reaches.
std::shared_ptr<DeviceBuffer> AllocatePinned(std::size_t bytes);

// Zeroed memory of device `ordinal` behind a file descriptor, as the driver's virtual memory
// functions make it. Throws as AllocateCuda.
std::shared_ptr<DeviceBuffer> AllocateCudaFile(const CudaDriver& driver, int ordinal,
                                               std::size_t bytes);

// A handle of memory that one of the functions above made for other processes.
PeerHandle ExportCuda(const CudaDriver& driver, const DeviceBuffer& buffer);

// Another process's memory, for device `ordinal`.
std::shared_ptr<DeviceBuffer> OpenCuda(const PeerHandle& handle);
std::shared_ptr<DeviceBuffer> OpenCudaFile(const CudaDriver& driver, int ordinal,
                                           const PeerHandle& handle);

// Lets device `ordinal` reach memory that another device of this process made. Throws
// EnvironmentError if the devices have no way to each other.
void ReachCuda(const DeviceBuffer& buffer, int ordinal);

}  // namespace hockney
