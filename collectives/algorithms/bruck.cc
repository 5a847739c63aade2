#include <algorithm>

#include "collectives/algorithms/families.h"
#include "collectives/builder.h"

namespace hockney {

RankProgram BruckAllGather(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const int p = b.ranks();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      b.Add(Copy(Input(b.Own(lane)), {Output(b.Block(lane, rank))}));
      // After the round of distance d this rank holds the 2d blocks from its own on. Blocks land at
      // their final place, so the rotation of the paper is not needed.
      for (int distance = 1; distance < p; distance *= 2) {
        const int count = std::min(distance, p - distance);
        const int to = (rank - distance + p) % p;
        const int from = (rank + distance) % p;
        b.Add(Copy(Output(Around(b.Block(lane, rank, count), p)), {b.To(Rank(to), count)}));
        b.Add(Copy(b.From(Rank(from), count), {Output(Around(b.Block(lane, from, count), p))}));
      }
    });
  }
  return b.Take();
}

RankProgram BruckAllToAll(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  b.UseScratch();
  const int p = b.ranks();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      // Scratch block j always holds data that still has to travel the bits of j not yet handled.
      b.Add(Copy(Input(Around(b.Block(lane, rank, p), p)), {Scratch(b.Block(lane, 0, p))}));
      for (int bit = 1; bit < p; bit *= 2) {
        int count = 0;
        for (int j = bit; j < p; ++j) count += (j & bit) != 0 ? 1 : 0;
        const Operand moved = Scratch(Strided(b.Block(lane, bit, count), bit, 2 * bit));
        b.Add(Copy(moved, {b.To(Rank((rank + bit) % p), count)}));
        b.Add(Copy(b.From(Rank((rank - bit + p) % p), count), {moved}));
      }
      const ChunkRun origin = Strided(Around(b.Block(lane, rank, p), p), 1, -1);
      b.Add(Copy(Scratch(b.Block(lane, 0, p)), {Output(origin)}));
    });
  }
  return b.Take();
}

}  // namespace hockney
