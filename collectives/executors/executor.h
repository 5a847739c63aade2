#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "collectives/algorithms.h"
#include "collectives/kernels/kernels.h"
#include "collectives/layout.h"
#include "collectives/program.h"

namespace hockney {

// One collective call as a user states it, on buffers of this rank.
struct Call {
  Shape shape{};
  Counts counts{};
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::byte* input =
      nullptr;  // may be null where the collective gives this rank no input (or output)
  std::byte* output = nullptr;  // equal to, or inside, input for in-place calls
};

// A collective that is ready to run any number of times on fixed buffers.
class Prepared {
 public:
  Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  virtual ~Prepared() = default;
  // Moves the data and waits for it; all ranks of the session call it. No allocation, lock or log.
  // Throws TimeoutError when a peer does not come within the deadline.
  virtual void Run() = 0;
};

}  // namespace hockney
