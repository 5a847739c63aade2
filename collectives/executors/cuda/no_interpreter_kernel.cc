// Stands in for interpreter_kernel.cu in builds without CUDA.
#include "collectives/executors/cuda/interpreter_kernel.h"

namespace hockney {

const char* DeviceInterpreterStatus() { return "not compiled: built without nvcc"; }

}  // namespace hockney
