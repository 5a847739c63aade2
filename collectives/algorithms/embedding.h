#pragma once

#include <cstdint>
#include <vector>

#include "collectives/program.h"

namespace hockney {

// What a program inside another makes of one of its buffers: its unit u (a block, or a part of a
// piece) of piece i0 is the chunks first + next_piece*i0 + unit*u + k*distance of the outer buffer,
// k = 0 .. Phase::fine - 1. A buffer that holds the rank's own unit only holds that one of them.
struct Window {
  Buffer buffer = Buffer::kInput;
  std::int32_t first = 0;
  std::int32_t next_piece = 0;
  std::int32_t unit = 1;  // 0: the buffer is the rank's own unit alone
  std::int32_t distance = 1;
};

// A program as one phase of another: built for one data lane and all pieces of the outer one, among
// a group of its ranks. Where the inner program has input and output at in-place offsets, the
// windows may lie on each other likewise.
struct Phase {
  RankProgram program;
  std::vector<std::int16_t> group;  // ranks of the job, by the inner program's ranks
  Window input;
  Window output;
  Window scratch;
  int fine = 1;              // outer chunks of a unit
  bool completes = false;    // the outer reduction is complete where the inner one is
  bool peer_memory = false;  // a peer shape: meets once a call instead of once a piece
};

// Units the inner program cuts a piece into.
int CountUnits(const RankProgram& inner, int pieces);

// Adds a data lane made of phases, on lanes of their own from program.lanes.size() on; a phase
// without a group has no part of this rank and leaves its `lanes_of_phase` lanes empty, so that
// ranks number lanes alike. Phase k + 1 of a piece waits for phase k of that piece only. Peer
// shapes touch nothing before all ranks of their group have entered the call, and none leaves
// before all have done.
void AddPhases(RankProgram& program, const std::vector<Phase>& phases, int pieces);

}  // namespace hockney
