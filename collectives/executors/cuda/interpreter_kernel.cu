// The interpreter as a kernel: one thread block a lane, in the simplest way that is right.
// Compiled, never run: no GPU has seen this code.
#include <cuda/std/chrono>

#include "collectives/executors/cuda/device_machine.h"
#include "collectives/executors/cuda/interpreter_kernel.h"

namespace hockney {
namespace {

// What thread 0 knows of a wait. The deadline and the abort flag are looked at here only.
class DeviceWaiting {
 public:
  __device__ void Moved() { waits_ = false; }
  // Whether to give up: another lane or the host says so, or nothing has moved for the timeout.
  __device__ bool IsOver(const DeviceCall& call) {
    const std::uint64_t now =
        static_cast<std::uint64_t>(cuda::std::chrono::duration_cast<cuda::std::chrono::nanoseconds>(
                                       cuda::std::chrono::system_clock::now().time_since_epoch())
                                       .count());
    if (!waits_) since_ = now;
    waits_ = true;
    const cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system> abort(*call.abort);
    if (abort.load(cuda::memory_order_relaxed) != 0) return true;
    if (now - since_ <= call.timeout_ns) return false;
    abort.store(1, cuda::memory_order_relaxed);  // the other lanes end too
    return true;
  }

 private:
  bool waits_ = false;
  std::uint64_t since_ = 0;
};

}  // namespace

// Runs lane blockIdx.x of the call to its end. All lanes must be resident at the same time: they
// wait for each other.
template <Element E, ReduceOp kOp>
__global__ void InterpretLane(const __grid_constant__ DeviceCall call) {
  __shared__ DeviceOperands operands;
  const int lane = static_cast<int>(blockIdx.x);
  DeviceMachine<E, kOp> machine(call, operands);
  DeviceWaiting waiting;
  LaneState state;
  while (true) {
    const Progress progress = Advance(call.programs[lane], lane, call.slices, state, machine);
    if (progress == Progress::kDone) return;
    if (progress == Progress::kMoved) {
      waiting.Moved();
      continue;
    }
    const bool over = threadIdx.x == 0 && waiting.IsOver(call);
    if (__syncthreads_or(over) == 0) continue;
    if (threadIdx.x == 0) call.reports[lane] = {.gave_up = 1, .step = state.step};
    return;
  }
}

template __global__ void InterpretLane<NativeElement<float>, ReduceOp::kSum>(
    const __grid_constant__ DeviceCall);

const char* DeviceInterpreterStatus() { return "compiled, never run"; }

}  // namespace hockney
