#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "collectives/algorithms.h"
#include "tuner/select/choice.h"

namespace hockney {

// Why the placement of the ranks in `parameters` leaves the row out, or "": peers' memory ends at
// the node, and hierarchies need several nodes.
std::string WhyNotPlaced(const Algorithm& row, const Parameters& parameters);

// Which choices may run on shapes where nobody has run them. Remembers what it has proved.
class Legality {
 public:
  // Programs are proved for at most this many ranks; more stand for it with as many ranks a node,
  // as far as that goes.
  static constexpr std::int64_t kMostProvedRanks = 32;

  // Why the choice cannot run for the collective on ranks in blocks over the nodes, in one line, or
  // "". Of libraries nothing is known here, so nothing is said. Programs are verified with half a
  // second for each.
  std::string WhyNot(Collective collective, const Choice& choice, std::int64_t ranks,
                     std::int64_t nodes);

  // Whether some answer rests on a proof for fewer ranks.
  bool reduced() const { return reduced_; }

 private:
  std::map<std::tuple<Collective, Choice, std::int64_t, std::int64_t>, std::string> known_;
  bool reduced_ = false;
};

// Ranks in blocks over nodes, the first nodes one rank larger where they do not divide.
RankPlacement BlockPlacement(std::int64_t ranks, std::int64_t nodes);

// The row of the table that a choice of hockney's names, with its parameters; the levels are the
// table's own text. Throws std::invalid_argument, in one line, for a choice that is none of
// hockney's, an algorithm that the collective has not, levels that do not fit, and a protocol,
// stores, slices or lanes that do not exist.
struct NamedAlgorithm {
  const Algorithm* row = nullptr;
  Parameters parameters = {};
  bool non_temporal = false;
};
NamedAlgorithm FindNamed(Collective collective, const Choice& choice);

}  // namespace hockney
