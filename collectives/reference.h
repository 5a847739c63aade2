#pragma once

#include <cstddef>
#include <span>

#include "collectives/layout.h"
#include "collectives/program.h"
#include "collectives/types.h"
#include "collectives/verify.h"

namespace hockney {

// One rank's buffers of a reference run; for in-place calls they overlap.
struct RankBuffers {
  std::span<std::byte> input;
  std::span<std::byte> output;
};

// Runs the programs of all ranks once on real data, in one thread, slowly and plainly: what
// executors are compared with, bit for bit. Throws std::logic_error when the programs get stuck or
// touch bytes outside the buffers.
void RunReference(std::span<const RankProgram> programs, const Layout& layout, ReduceOp op,
                  const Flow& flow, std::span<const RankBuffers> buffers);

}  // namespace hockney
