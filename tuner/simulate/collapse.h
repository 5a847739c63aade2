#pragma once

#include <vector>

#include "tuner/simulate/machine.h"
#include "tuner/simulate/rank_code.h"

namespace hockney {

// The coarsest partition of the ranks in which all ranks of a class have the same structure and,
// port by port, peers of the same class at the same port, over the same level, with as many ranks
// of each class in their node and rack: they do everything at the same times. Ranks without such
// likes are alone; where most are, all are. (Equitable partitions, by refining colours.)
RankClasses CollapseRanks(const std::vector<RankCode>& codes, const SimMachine& machine);

}  // namespace hockney
