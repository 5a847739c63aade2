#include "collectives/expectation.h"

#include <stdexcept>

namespace hockney {

ChunkExpectation ExpectChunk(const Layout& layout, int rank, int chunk) {
  const Counts& counts = layout.counts();
  const int cuts = layout.cut().lanes * layout.cut().chunks;
  const int block = chunk / cuts;
  const int within = chunk % cuts;
  switch (counts.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return {.rank = ChunkExpectation::kAllRanks, .chunk = chunk, .reduced = true};
    case Collective::kReduceScatter:
      return {.rank = ChunkExpectation::kAllRanks, .chunk = rank * cuts + within, .reduced = true};
    case Collective::kAllGather:
    case Collective::kGather:
      return {.rank = block, .chunk = within};
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return {.rank = block, .chunk = rank * cuts + within};
    case Collective::kBroadcast:
      return {.rank = counts.root, .chunk = chunk};
    case Collective::kScatter:
      return {.rank = counts.root, .chunk = rank * cuts + within};
    case Collective::kSendRecv:
      return {.rank = (rank + counts.ranks - 1) % counts.ranks, .chunk = chunk};
    case Collective::kBarrier:
      break;
  }
  throw std::invalid_argument("this collective has no output");
}

}  // namespace hockney
