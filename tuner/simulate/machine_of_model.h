#pragma once

#include "tuner/model/model.h"
#include "tuner/simulate/machine.h"

namespace hockney {

// The machine that a fitted model speaks of, with ranks placed as given. Of each level of links:
// the time of a message without bytes less what its sender does itself (overhead), the rate of one
// connection, and the rate of all; from a bend after which larger messages are slower (a shaper's
// bucket) how much passes at once. Between nodes a network card moves the bytes, within a node the
// lane. Throws std::invalid_argument, naming the level, where the placement needs a level that the
// model lacks.
SimMachine MachineOfModel(const Model& model, RankPlacement placement);

// What a fit of one pair's messages says of the link.
struct LinkShape {
  double alpha_seconds = 0;
  double connection_bytes_per_second = 0;  // before the bucket is empty
  double bytes_per_second = 0;             // for ever
  double burst_bytes = 0;                  // 0: no bucket
};
LinkShape ShapeOfLink(const PiecewiseLine& line);

}  // namespace hockney
