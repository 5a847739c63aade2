#pragma once

#include "collectives/types.h"

namespace hockney {

// Returns the interpreter's kernel for the CUDA runtime, which takes (BlockCall, const BlockCall*);
// see interpreter_kernel.cuh.
const void* FindInterpreter(DataType type, ReduceOp op);

// Its parts, one file each: they take long to compile.
const void* FindFloatInterpreter(DataType type, ReduceOp op);       // float32, float64
const void* FindSmallFloatInterpreter(DataType type, ReduceOp op);  // of 16 and 8 bits
const void* FindWideInterpreter(DataType type, ReduceOp op);        // integers of 64 bits
const void* FindNarrowInterpreter(DataType type, ReduceOp op);      // and of 32 and 8

}  // namespace hockney
