#pragma once

#include <cstdint>
#include <vector>

#include "collectives/executors/cuda/block_call.h"
#include "collectives/layout.h"
#include "collectives/program.h"

namespace hockney {

// A rank's program as flat arrays, to be copied to where its blocks run. Indices stand where a
// BlockCall has pointers.
struct LoweredProgram {
  std::vector<Lane> lanes;
  // The groups' members one after the other; group_begin[lane] is where lane's begin, -1 if all
  // ranks are its group; group_size[lane].
  std::vector<std::int16_t> members;
  std::vector<std::int32_t> group_begin;
  std::vector<std::int32_t> group_size;
  // Where chunks lie: input_begin[r], output_begin[r] and scratch_begin are indices into `chunks`.
  std::vector<ByteRange> chunks;
  std::vector<std::size_t> input_begin;
  std::vector<std::size_t> output_begin;
  std::size_t scratch_begin = 0;
};

// Lowers the program of one rank. Chunks are listed for the rank itself and for the peers whose
// memory it works in; another rank's begin where nothing is read.
LoweredProgram Lower(const RankProgram& program, const Layout& layout);

}  // namespace hockney
