#include <stdexcept>

#include "collectives/executors/cuda/interpreter_kernel.cuh"
#include "collectives/executors/cuda/interpreter_kernels.h"

namespace hockney {

const void* FindFloatInterpreter(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat32:
      return FindInterpreterOf<NativeElement<float>>(op);
    case DataType::kFloat64:
      return FindInterpreterOf<NativeElement<double>>(op);
    default:
      throw std::invalid_argument("not of 32 or 64 bits' floats");
  }
}

}  // namespace hockney
