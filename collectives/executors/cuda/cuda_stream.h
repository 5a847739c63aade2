#pragma once

// Streams and events of CUDA as C++ owns them. For files that are compiled where CUDA is.

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "collectives/executors/cuda/cuda_driver.h"

namespace hockney {

using CudaStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Deleter<cudaStreamDestroy>>;
using CudaEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Deleter<cudaEventDestroy>>;
using CudaGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Deleter<cudaGraphDestroy>>;
using CudaGraphExec =
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Deleter<cudaGraphExecDestroy>>;

// One that does not wait for the default stream.
inline CudaStream MakeStream() {
  cudaStream_t stream = nullptr;
  HOCKNEY_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return CudaStream(stream);
}

inline CudaEvent MakeEvent() {
  cudaEvent_t event = nullptr;
  HOCKNEY_CHECK(cudaEventCreate(&event));
  return CudaEvent(event);
}

}  // namespace hockney
