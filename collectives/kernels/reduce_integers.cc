#include "collectives/kernels/reduce.h"
#include "collectives/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/reduce_integers.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "collectives/kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hockney {
namespace HWY_NAMESPACE {

Kernel FindIntegers(DataType type, ReduceOp op, StorePolicy store) {
  return FindIn<false>(type, op, store);
}

}  // namespace HWY_NAMESPACE
}  // namespace hockney
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hockney {

HWY_EXPORT(FindIntegers);

Kernel FindIntegerKernel(DataType type, ReduceOp op, StorePolicy store) {
  return HWY_DYNAMIC_DISPATCH(FindIntegers)(type, op, store);
}

}  // namespace hockney
#endif
