#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "collectives/program.h"

namespace hockney {

// One level of a hierarchy as a rank sees it: the ranks it talks to there.
struct Level {
  std::string_view algorithm;
  std::vector<std::int16_t> members;
  int index = 0;  // this rank's place among them
  int width =
      1;  // units of the level in a program's grid; at the node as many as any node has ranks
};

// A rank's place: its node, then its rail through the nodes of its rack, or of all racks, then
// (with a rack level) its rail through the racks. Rails are the ranks of one local index, as many
// as every node has ranks; a rank beyond them (an extra) has the first level only, and the ranks of
// its node whose local index is the same modulo the rails share a rail.
struct Hierarchy {
  std::vector<Level> levels;
  int rails = 1;
  int slots = 1;  // the most ranks of a node that share a rail
  int local = 0;  // index of this rank in its node
  std::vector<std::int16_t>
      sharers;  // the ranks of this node on this rank's rail, its holder first
  bool on_rail() const { return local < rails; }
  // The blocks of all ranks by (rail, rack level, top, slot), last fastest; -1 where no rank is.
  std::vector<std::int32_t> grid;
};

// Throws std::invalid_argument for a placement of other ranks, and for racks of unlike node counts
// where the levels have one for racks.
Hierarchy FindHierarchy(int ranks, int rank, const Parameters& parameters);

}  // namespace hockney
