#pragma once

#include <span>

#include "collectives/executors/executor.h"
#include "topology/watchdog.h"

namespace hockney {

// A collective of float32 numbers, prepared on buffers of its own.
struct Exchange {
  Prepared* call = nullptr;  // null: the rank is alone in its group
  std::span<float> input = {};
  std::span<float> output = {};
  Watchdog* watchdog = nullptr;  // of the call, if it has no deadline of its own

  // Does it from and to the caller's numbers, which may be the same. Collective over the group.
  void Run(std::span<const float> from, std::span<float> to) const;
};

// What ranks tell each other in a step of training. Reductions are sums.
struct TrainExchanges {
  // Of tensor-parallel ranks: all-reduces.
  Exchange outputs = {};
  Exchange input_gradients = {};
  // Of data-parallel ranks.
  Exchange gradients = {};   // all-reduce; with shards reduce-scatter
  Exchange parameters = {};  // all-gather of shards
  Exchange loss = {};        // all-reduce
};

}  // namespace hockney
