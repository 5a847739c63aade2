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

// Waits for what `enqueue` puts into the stream, and returns the seconds it takes there, by events
// around it. `wait` is called until it is done, and throws where it must not go on.
template <class Enqueue, class Wait>
double TimeOn(cudaStream_t stream, const Enqueue& enqueue, const Wait& wait) {
  const CudaEvent begin = MakeEvent();
  const CudaEvent end = MakeEvent();
  HOCKNEY_CHECK(cudaEventRecord(begin.get(), stream));
  enqueue();
  HOCKNEY_CHECK(cudaEventRecord(end.get(), stream));
  cudaError_t status = cudaErrorNotReady;
  while ((status = cudaEventQuery(end.get())) == cudaErrorNotReady) wait();
  HOCKNEY_CHECK(status);
  float milliseconds = 0;
  HOCKNEY_CHECK(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
  return milliseconds / 1e3;
}

// The same of what is being captured from the stream, replayed; in seconds a replay.
template <class Wait>
double TimeCapture(cudaStream_t stream, int replays, const Wait& wait) {
  cudaGraph_t captured = nullptr;
  HOCKNEY_CHECK(cudaStreamEndCapture(stream, &captured));
  const CudaGraph graph(captured);
  cudaGraphExec_t made = nullptr;
  HOCKNEY_CHECK(cudaGraphInstantiate(&made, captured, 0));
  const CudaGraphExec executable(made);
  const auto enqueue = [&] {
    for (int i = 0; i < replays; ++i) HOCKNEY_CHECK(cudaGraphLaunch(made, stream));
  };
  return TimeOn(stream, enqueue, wait) / replays;
}

}  // namespace hockney
