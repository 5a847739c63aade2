#pragma once

#include "collectives/kernels/kernels.h"

namespace hockney {

// The two halves of FindKernel(), in files of their own for the time they take to compile. Throw
// std::invalid_argument for a type of the other family.
Kernel FindIntegerKernel(DataType type, ReduceOp op, StorePolicy store);
Kernel FindFloatKernel(DataType type, ReduceOp op, StorePolicy store);

}  // namespace hockney
