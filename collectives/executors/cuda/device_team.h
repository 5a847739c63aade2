#pragma once

// For nvcc only. Compiled, never run: no GPU has seen this code.

#include <atomic>
#include <cstdint>
#include <cuda/atomic>

namespace hockney {

// Counters and packets as a GPU reaches them, in its own memory, a peer's or the host's. They are
// std::atomic to the host, which has the same representation.
struct DeviceAccess {
  template <class T>
  using Reference = cuda::atomic_ref<T, cuda::thread_scope_system>;

  __device__ static std::uint64_t Acquire(const std::atomic<std::uint64_t>& value) {
    return Of(value).load(cuda::memory_order_acquire);
  }
  __device__ static void Release(std::atomic<std::uint64_t>& value, std::uint64_t next) {
    Of(value).store(next, cuda::memory_order_release);
  }
  template <class T>
  __device__ static T Load(const std::atomic<T>& value) {
    return Of(value).load(cuda::memory_order_relaxed);
  }
  template <class T>
  __device__ static void Store(std::atomic<T>& value, T next) {
    Of(value).store(next, cuda::memory_order_relaxed);
  }

 private:
  template <class T>
  __device__ static Reference<T> Of(const std::atomic<T>& value) {
    static_assert(sizeof(std::atomic<T>) == sizeof(T));
    return Reference<T>(*reinterpret_cast<T*>(const_cast<std::atomic<T>*>(&value)));
  }
};

// The thread block as a Team of BlockMachine.
class DeviceTeam {
 public:
  using Access = DeviceAccess;
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ void Sync() { __syncthreads(); }
  __device__ bool Any(bool mine) { return __syncthreads_or(mine) != 0; }
};

}  // namespace hockney
