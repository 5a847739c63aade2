#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/types.h"

namespace hockney {

// How a kernel writes its destinations. Non-temporal stores bypass the caches; the kernel ends in a
// store fence, so a release store after it publishes the data.
enum class StorePolicy : std::uint8_t { kCached, kNonTemporal };

// One pass: dst[d][i] = round(src[0][i] (op) src[1][i] (op) ... ) for all d, sources taken in
// listed order. 16- and 8-bit floats accumulate in float32 and round once (nearest even; float8
// saturates to the largest finite value, NaN stays NaN); other types accumulate in their own type,
// integers wrap. min and max return the operand that is not NaN. For kAvg: a float source with
// scaled[s] != 0 is multiplied by 1/ranks in the accumulator type before it is used; integers are
// summed and, if `divide`, divided by `ranks` towards zero at the write. Pointers need no
// alignment. A destination may be exactly one of the sources; other overlap is undefined.
struct KernelArgs {
  const std::byte* const* sources = nullptr;
  const std::uint8_t* scaled = nullptr;  // one a source; null: none
  std::byte* const* destinations = nullptr;
  std::size_t source_count = 0;
  std::size_t destination_count = 0;
  std::size_t count = 0;  // elements
  int ranks = 1;
  bool divide = false;
};
using Kernel = void (*)(const KernelArgs&);

// Returns the fastest kernel of this machine; callable by any thread. One source and no scaling is
// a copy.
Kernel FindKernel(DataType type, ReduceOp op, StorePolicy store);

// The slow, scalar statement of the same contract, written apart from the fast ones; they agree bit
// for bit.
void ReferenceKernel(DataType type, ReduceOp op, const KernelArgs& args);

// The instruction set the kernels were dispatched to, e.g. "AVX3_ZEN4".
const char* KernelTarget();

}  // namespace hockney
