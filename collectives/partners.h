#pragma once

#include <vector>

#include "collectives/program.h"

namespace hockney {

// Returns, in order and once each, the other ranks that `program` exchanges messages or tokens
// with, or whose memory it touches. Partners are mutual between the programs of one collective.
std::vector<int> PartnersOf(const RankProgram& program);

// The same, only those whose buffers it reads or writes in place.
std::vector<int> MemoryPartnersOf(const RankProgram& program);

}  // namespace hockney
