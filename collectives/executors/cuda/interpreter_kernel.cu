// The interpreter as a kernel: one thread block a lane.
// Compiled, never run: no GPU has seen this code.
#include "collectives/executors/cuda/block_machine.h"
#include "collectives/executors/cuda/device_team.h"
#include "collectives/executors/cuda/interpreter_kernel.h"

namespace hockney {
namespace {

// What thread 0 knows of a wait.
class DeviceWaiting {
 public:
  __device__ void Moved() { waits_ = false; }
  // Whether to give up: another lane or the host says so, or nothing has moved for the timeout.
  __device__ bool IsOver(const BlockCall& call) {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));  // nanoseconds
    if (!waits_) since_ = now;
    waits_ = true;
    if (DeviceAccess::Load(*call.abort) != 0) return true;
    if (now - since_ <= call.timeout_ns) return false;
    DeviceAccess::Store(*call.abort, std::uint32_t{1});  // the other lanes end too
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
__global__ void InterpretLane(const __grid_constant__ BlockCall call) {
  __shared__ BlockOperands operands;
  DeviceTeam team;
  BlockMachine<DeviceTeam, E, kOp> machine(call, operands, team);
  DeviceWaiting waiting;
  RunLane(call, static_cast<int>(blockIdx.x), machine, team, waiting);
}

template __global__ void InterpretLane<NativeElement<float>, ReduceOp::kSum>(
    const __grid_constant__ BlockCall);

const char* DeviceInterpreterStatus() { return "compiled, never run"; }

}  // namespace hockney
