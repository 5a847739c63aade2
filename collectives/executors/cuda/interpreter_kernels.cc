#include "collectives/executors/cuda/interpreter_kernels.h"

namespace hockney {

const void* FindInterpreter(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kFloat64:
      return FindFloatInterpreter(type, op);
    case DataType::kInt64:
    case DataType::kUint64:
      return FindWideInterpreter(type, op);
    default:
      return IsFloat(type) ? FindSmallFloatInterpreter(type, op) : FindNarrowInterpreter(type, op);
  }
}

}  // namespace hockney
