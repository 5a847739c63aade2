#include <stdexcept>

#include "collectives/executors/cuda/interpreter_kernel.cuh"
#include "collectives/executors/cuda/interpreter_kernels.h"

namespace hockney {

const void* FindWideInterpreter(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kInt64:
      return FindInterpreterOf<NativeElement<std::int64_t>>(op);
    case DataType::kUint64:
      return FindInterpreterOf<NativeElement<std::uint64_t>>(op);
    default:
      throw std::invalid_argument("not of 64 bits' integers");
  }
}

}  // namespace hockney
