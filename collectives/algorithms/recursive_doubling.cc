#include <algorithm>

#include "collectives/algorithms/families.h"
#include "collectives/algorithms/recursive.h"
#include "collectives/builder.h"

namespace hockney {

Fold FindFold(int ranks, int rank) {
  Fold fold;
  fold.power = FloorPowerOfTwo(ranks);
  fold.extras = ranks - fold.power;
  fold.is_extra = rank >= fold.power;
  if (fold.is_extra) fold.partner = rank - fold.power;
  if (rank < fold.extras) fold.partner = rank + fold.power;
  return fold;
}

Step ReduceInRankOrder(const Builder& b, int peer, const Operand& own, const Operand& destination) {
  const Operand other = b.From(Rank(peer), own.run.count);
  return peer < b.rank() ? Reduce({other, own}, {destination})
                         : Reduce({own, other}, {destination});
}

RankProgram DoublingAllReduce(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const Fold fold = FindFold(b.ranks(), rank);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const Operand output = Output(b.Part(lane));
    b.AddLane([&] {
      Operand own = Input(b.Part(lane));
      if (b.ranks() == 1) b.Add(Final(Reduce({own}, {output})));
      if (fold.is_extra) {
        b.Add(Copy(own, {b.To(Rank(fold.partner))}));
        b.Add(Copy(b.From(Rank(fold.partner)), {output}));
        return;
      }
      if (fold.partner >= 0) {
        b.Add(ReduceInRankOrder(b, fold.partner, own, output));
        own = output;
      }
      for (int bit = 1; bit < fold.power; bit *= 2) {
        const int peer = rank ^ bit;
        b.Add(Copy(own, {b.To(Rank(peer))}));
        const Step step = ReduceInRankOrder(b, peer, own, output);
        b.Add(2 * bit == fold.power ? Final(step) : step);
        own = output;
      }
      if (fold.partner >= 0) b.Add(Copy(output, {b.To(Rank(fold.partner))}));
    });
  }
  return b.Take();
}

RankProgram DoublingAllGather(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const Fold fold = FindFold(b.ranks(), rank);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    // The blocks that the `size` ranks of the group at `low` hold between them, those of their
    // extras included.
    const auto group = [&](int low, int size) {
      const int extras = std::clamp(fold.extras - low, 0, size);
      return Strided(b.Block(lane, low, size + extras), size, fold.power);
    };
    // All blocks but the extra's own.
    const ChunkRun others =
        Around(b.Block(lane, std::max(rank, fold.partner) + 1, b.ranks() - 1), b.ranks());
    b.AddLane([&] {
      const Operand own = Input(b.Own(lane));
      if (fold.is_extra) {
        b.Add(Copy(own, {Output(b.Block(lane, rank)), b.To(Rank(fold.partner))}));
        b.Add(Copy(b.From(Rank(fold.partner), b.ranks() - 1), {Output(others)}));
        return;
      }
      b.Add(Copy(own, {Output(b.Block(lane, rank))}));
      if (fold.partner >= 0) {
        b.Add(Copy(b.From(Rank(fold.partner)), {Output(b.Block(lane, fold.partner))}));
      }
      for (int bit = 1; bit < fold.power; bit *= 2) {
        const int peer = rank ^ bit;
        const ChunkRun mine = group(rank & ~(bit - 1), bit);
        const ChunkRun theirs = group(peer & ~(bit - 1), bit);
        b.Add(Copy(Output(mine), {b.To(Rank(peer), mine.count)}));
        b.Add(Copy(b.From(Rank(peer), theirs.count), {Output(theirs)}));
      }
      if (fold.partner >= 0) b.Add(Copy(Output(others), {b.To(Rank(fold.partner), b.ranks() - 1)}));
    });
  }
  return b.Take();
}

RankProgram DoublingBarrier(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const Fold fold = FindFold(b.ranks(), rank);
  b.AddLane([&] {
    if (fold.is_extra) {
      b.Add(Post(Peer(Rank(fold.partner))));
      b.Add(Wait(Peer(Rank(fold.partner))));
      return;
    }
    if (fold.partner >= 0) b.Add(Wait(Peer(Rank(fold.partner))));
    for (int bit = 1; bit < fold.power; bit *= 2) {
      b.Add(Post(Peer(Rank(rank ^ bit))));
      b.Add(Wait(Peer(Rank(rank ^ bit))));
    }
    if (fold.partner >= 0) b.Add(Post(Peer(Rank(fold.partner))));
  });
  return b.Take();
}

}  // namespace hockney
