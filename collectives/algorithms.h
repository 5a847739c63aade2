#pragma once

#include <span>
#include <string_view>

#include "collectives/program.h"

namespace hockney {

// One row of the table: an algorithm for a collective. To add one, write its builder in algorithms/
// and add its row.
struct Algorithm {
  std::string_view name;
  RankProgram (*build)(const Shape&, int rank, const Parameters&) = nullptr;
  // Bytes this rank sends or writes to, or reads from, other ranks, over the size of the collective
  // (nccl-tests' size column), when blocks are even. Source: the algorithm's paper.
  double (*wire_fraction)(const Shape&, int rank, const Parameters&) = nullptr;
  Collective collective = Collective::kAllReduce;
  bool simple_uses_peer_memory =
      false;           // with protocol simple it reads and writes peers' buffers: one host only
  bool has_ll = true;  // has messages that packets can carry
  bool uses_pieces = true;    // long vectors are worked off in pieces
  bool equal_blocks = false;  // blocks of different ranks must have the same count
};

// All rows, grouped by collective.
std::span<const Algorithm> AllAlgorithms();

// The row, or null.
const Algorithm* FindAlgorithm(Collective collective, std::string_view name);

}  // namespace hockney
