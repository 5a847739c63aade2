#include <stdexcept>

#include "collectives/executors/cuda/interpreter_kernel.cuh"
#include "collectives/executors/cuda/interpreter_kernels.h"

namespace hockney {

const void* FindNarrowInterpreter(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kInt32:
      return FindInterpreterOf<NativeElement<std::int32_t>>(op);
    case DataType::kUint32:
      return FindInterpreterOf<NativeElement<std::uint32_t>>(op);
    case DataType::kInt8:
      return FindInterpreterOf<NativeElement<std::int8_t>>(op);
    case DataType::kUint8:
      return FindInterpreterOf<NativeElement<std::uint8_t>>(op);
    default:
      throw std::invalid_argument("not of 32 or 8 bits' integers");
  }
}

}  // namespace hockney
