#pragma once

// The interpreter as a kernel: one thread block a lane. For nvcc only.
// Compiled, never run: no GPU has seen this code.

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "collectives/executors/cuda/block_machine.h"
#include "collectives/executors/cuda/device_team.h"

namespace hockney {

// What thread 0 knows of a wait.
class DeviceWaiting {
 public:
  __device__ void Moved() { waits_ = false; }
  // Whether to give up: another lane or the host says so, or nothing has moved for the timeout.
  // Both are looked at now and then only: the flag is memory of the host, far away.
  __device__ bool IsOver(const BlockCall& call) {
    constexpr unsigned kAsksBetweenLooks = 256;
    if (waits_ && ++asks_ % kAsksBetweenLooks != 0) return false;
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
  unsigned asks_ = 0;
  std::uint64_t since_ = 0;
};

// Copies the steps that a lane has into memory of the block, where each is read many times.
__device__ inline const Lane& CopyLane(const Lane& lane, std::uint32_t* room) {
  const std::size_t bytes = offsetof(Lane, steps) + lane.step_count * sizeof(Step);
  static_assert(alignof(Lane) == sizeof(std::uint32_t) &&
                sizeof(Step) % sizeof(std::uint32_t) == 0);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(&lane);
  for (std::size_t i = threadIdx.x; i < bytes / sizeof(std::uint32_t); i += blockDim.x) {
    room[i] = words[i];
  }
  __syncthreads();
  return *reinterpret_cast<const Lane*>(room);
}

// Block (x, y) runs lane x of the call of the launch's rank y to its end: of `one` where there is
// one rank, else of `many`. All blocks must be resident at the same time: they wait for each other.
template <Element E, ReduceOp kOp>
__global__ __launch_bounds__(kMostBlockThreads) void InterpretLanes(
    const __grid_constant__ BlockCall one, const BlockCall* many) {
  __shared__ BlockOperands operands;
  __shared__ std::uint32_t room[sizeof(Lane) / sizeof(std::uint32_t)];
  const BlockCall& call = many == nullptr ? one : many[blockIdx.y];
  const int lane = static_cast<int>(blockIdx.x);
  if (lane >= call.lanes) return;
  DeviceTeam team;
  BlockMachine<DeviceTeam, E, kOp> machine(call, operands, team);
  DeviceWaiting waiting;
  RunLane(call, {lane, CopyLane(call.programs[lane], room)}, machine, team, waiting);
}

// The kernel of an operator on one type.
template <Element E>
const void* FindInterpreterOf(ReduceOp op) {
  using enum ReduceOp;
  switch (op) {
    case kSum:
      return reinterpret_cast<const void*>(&InterpretLanes<E, kSum>);
    case kProd:
      return reinterpret_cast<const void*>(&InterpretLanes<E, kProd>);
    case kMin:
      return reinterpret_cast<const void*>(&InterpretLanes<E, kMin>);
    case kMax:
      return reinterpret_cast<const void*>(&InterpretLanes<E, kMax>);
    case kAvg:
      return reinterpret_cast<const void*>(&InterpretLanes<E, kAvg>);
  }
  throw std::invalid_argument("unknown ReduceOp");
}

}  // namespace hockney
