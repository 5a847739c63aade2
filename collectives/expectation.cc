#include "collectives/expectation.h"

#include <stdexcept>

namespace hockney {

ChunkExpectation ExpectChunk(const Layout& layout, int rank, int chunk) {
  const Counts& counts = layout.counts();
  const int cuts = layout.cut().lanes * layout.cut().chunks;
  const int owner = layout.OwnerOf(chunk / cuts);  // where the output holds a block of each rank
  const int within = chunk % cuts;
  const int mine = layout.BlockOf(rank) * cuts + within;
  switch (counts.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return {.rank = ChunkExpectation::kAllRanks, .chunk = chunk, .reduced = true};
    case Collective::kReduceScatter:
      return {.rank = ChunkExpectation::kAllRanks, .chunk = mine, .reduced = true};
    case Collective::kAllGather:
    case Collective::kGather:
      return {.rank = owner, .chunk = within};
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return {.rank = owner, .chunk = mine};
    case Collective::kBroadcast:
      return {.rank = counts.root, .chunk = chunk};
    case Collective::kScatter:
      return {.rank = counts.root, .chunk = mine};
    case Collective::kSendRecv:
      return {.rank = (rank + counts.ranks - 1) % counts.ranks, .chunk = chunk};
    case Collective::kBarrier:
      break;
  }
  throw std::invalid_argument("this collective has no output");
}

}  // namespace hockney
