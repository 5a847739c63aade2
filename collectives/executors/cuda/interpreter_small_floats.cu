#include <stdexcept>

#include "collectives/executors/cuda/interpreter_kernel.cuh"
#include "collectives/executors/cuda/interpreter_kernels.h"

namespace hockney {

const void* FindSmallFloatInterpreter(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat16:
      return FindInterpreterOf<Float16>(op);
    case DataType::kBfloat16:
      return FindInterpreterOf<Bfloat16>(op);
    case DataType::kFloat8E4m3:
      return FindInterpreterOf<Float8E4m3>(op);
    case DataType::kFloat8E5m2:
      return FindInterpreterOf<Float8E5m2>(op);
    default:
      throw std::invalid_argument("not of 16 or 8 bits' floats");
  }
}

}  // namespace hockney
