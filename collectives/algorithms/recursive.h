#pragma once

#include "collectives/builder.h"

// What recursive doubling and halving share: ranks beyond the largest power of two ("extras") fold
// into a partner.
namespace hockney {

struct Fold {
  int power = 1;   // ranks of the hypercube
  int extras = 0;  // ranks beyond it
  bool is_extra = false;
  int partner = -1;  // the extra of a low rank, the low rank of an extra, or -1
};

Fold FindFold(int ranks, int rank);

// The message from `peer` and this rank's `own` chunks, lower rank first: every rank then forms the
// same sums.
Step ReduceInRankOrder(const Builder& b, int peer, const Operand& own, const Operand& destination);

}  // namespace hockney
