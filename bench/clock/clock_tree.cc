#include "bench/clock/clock_tree.h"

#include <bit>

namespace hockney {
namespace {

int FullNodes(int nodes) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes))); }

}  // namespace

std::vector<ClockRound> ClockRounds(int node, int nodes) {
  const int full = FullNodes(nodes);
  std::vector<ClockRound> rounds;
  int round = 0;
  for (int step = full / 2; step >= 1; step /= 2, ++round) {
    if (node >= full || node % step != 0) continue;
    const bool learns = node % (2 * step) != 0;
    rounds.push_back({round, learns ? node - step : node + step, learns});
  }
  if (node >= full) rounds.push_back({round, node - full, true});
  if (node < full && node + full < nodes) rounds.push_back({round, node + full, false});
  return rounds;
}

int ClockRoundCount(int nodes) {
  const int full = FullNodes(nodes);
  return std::bit_width(static_cast<unsigned>(full)) - 1 + (nodes > full ? 1 : 0);
}

int ClockParent(int node, int nodes) {
  const int full = FullNodes(nodes);
  return node >= full ? node - full : node & (node - 1);
}

}  // namespace hockney
