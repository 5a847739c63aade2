#pragma once

#include <cstddef>

#include "collectives/layout.h"
#include "collectives/program.h"
#include "collectives/types.h"

namespace hockney {

// One collective call as a user states it, on buffers of this rank.
struct Call {
  Shape shape{};
  Counts counts{};
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  // Null where the collective gives this rank no such buffer; in place they overlap.
  std::byte* input = nullptr;
  std::byte* output = nullptr;
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
