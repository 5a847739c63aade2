#include "collectives/kernels/reduce.h"
#include "collectives/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/reduce_floats.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "collectives/kernels/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hockney {
namespace HWY_NAMESPACE {

Kernel FindFloats(DataType type, ReduceOp op, StorePolicy store) {
  return FindIn<true>(type, op, store);
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace hockney
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hockney {

HWY_EXPORT(FindFloats);
HWY_EXPORT(TargetName);

Kernel FindFloatKernel(DataType type, ReduceOp op, StorePolicy store) {
  return HWY_DYNAMIC_DISPATCH(FindFloats)(type, op, store);
}

Kernel FindKernel(DataType type, ReduceOp op, StorePolicy store) {
  return IsFloat(type) ? FindFloatKernel(type, op, store) : FindIntegerKernel(type, op, store);
}

const char* KernelTarget() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace hockney
#endif
