#pragma once

#include <cstddef>
#include <span>

#include "collectives/algorithms.h"
#include "collectives/layout.h"
#include "collectives/verify.h"

namespace hockney {

// What connections of an executor can hold.
struct FlowLimits {
  int slots = 8;
  std::size_t slot_bytes = 64 * 1024;        // of plain data
  std::size_t packet_slot_bytes = 4 * 1024;  // of data carried in packets
  std::size_t memory_slice_bytes =
      256 * 1024;  // of one pass over peers' memory, a matter of promptness only
};

// How a call is worked off: the program's pieces and the slices of every chunk.
struct CallFlow {
  Parameters parameters{};  // with pieces
  Cut cut{};
  Flow flow{};
  std::size_t slice_bytes = 0;
};

// Chooses the fewest pieces whose chunks, in `parameters.slices` slices (at least 1, less than the
// slots: fused steps need a free one), fit the connections. Every rank gets the same answer from
// the same arguments. Throws std::invalid_argument for slices out of range.
CallFlow ChooseFlow(const Algorithm& row, const Counts& counts, DataType type,
                    Parameters parameters, const FlowLimits& limits);

// The same, looking at the programs of some ranks only: for who predicts calls of very many.
struct FlowCall {
  const Algorithm& row;
  const Counts& counts;
  DataType type = DataType::kFloat32;
  Parameters parameters = {};
  FlowLimits limits = {};
};
CallFlow ChooseFlow(const FlowCall& call, std::span<const int> ranks);

// Chunks in the largest message of the program.
int LargestMessageChunks(const RankProgram& program);

}  // namespace hockney
