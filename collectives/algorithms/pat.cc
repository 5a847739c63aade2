#include <algorithm>
#include <functional>

#include "collectives/algorithms/families.h"
#include "collectives/builder.h"

namespace hockney {
namespace {

// Splits `count` chunks into messages of at most `limit` (0: no limit) and calls add(first, chunks,
// inner) for each: the message starts at chunk `first` and, inside a loop, moves on by `inner`
// chunks an iteration.
void SplitMessages(Builder& b, int count, const std::function<void(int, int, int)>& add) {
  const int limit = b.parameters().aggregation > 0 ? b.parameters().aggregation : count;
  b.Repeat(count / limit, 1, [&] { add(0, limit, limit); });
  if (count % limit > 0) add(count / limit * limit, count % limit, 0);
}

// Chunks whose offset from their owner is first, first + 2d, first + 4d, ... and below the ranks
// less `reach`.
int CountOffsets(int ranks, int distance) {
  return (ranks - distance + 2 * distance - 1) / (2 * distance);
}

}  // namespace

RankProgram PatAllGather(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const int p = b.ranks();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    // Blocks of ranks start, start - 2d, start - 4d, ...
    const auto blocks = [&](int start, int distance, int count, int inner) {
      return Strided(Around(Along(b.Block(lane, start, count), -2 * distance * inner), p), 1,
                     -2 * distance);
    };
    b.AddLane([&] {
      b.Add(Copy(Input(b.Own(lane)), {Output(b.Block(lane, rank))}));
      // Farthest first: before distance d this rank holds the blocks at offsets that are multiples
      // of 2d.
      for (int d = (1 << CeilLog2(p)) / 2; d >= 1; d /= 2) {
        const PeerIndex to = Rank((rank + d) % p);
        const PeerIndex from = Rank((rank - d + p) % p);
        SplitMessages(b, CountOffsets(p, d), [&](int first, int count, int inner) {
          const int start = rank - 2 * d * first;
          b.Add(Copy(Output(blocks(start, d, count, inner)), {b.To(to, count)}));
          b.Add(Copy(b.From(from, count), {Output(blocks(start - d, d, count, inner))}));
        });
      }
    });
  }
  return b.Take();
}

RankProgram PatReduceScatter(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  b.UseScratch();
  const int p = b.ranks();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    // Blocks of ranks start, start + 2d, start + 4d, ...
    const auto blocks = [&](int start, int distance, int count, int inner) {
      return Strided(Around(Along(b.Block(lane, start, count), 2 * distance * inner), p), 1,
                     2 * distance);
    };
    b.AddLane([&] {
      const Operand output = Output(b.Own(lane));
      if (p == 1) {
        b.Add(Final(Reduce({Input(b.Block(lane, 0))}, {output})));
        return;
      }
      // The farthest block of an odd count receives nothing on its way; later steps look for it in
      // scratch.
      if (p % 2 == 1) {
        const ChunkRun farthest = b.Block(lane, (rank + p - 1) % p);
        b.Add(Copy(Input(farthest), {Scratch(farthest)}));
      }
      // Nearest first: at distance d the partial sums for ranks at odd multiples of d move d ranks
      // on.
      for (int d = 1; d < p; d *= 2) {
        const PeerIndex to = Rank((rank + d) % p);
        const PeerIndex from = Rank((rank - d + p) % p);
        const auto partial = [&](const ChunkRun& run) {
          return d == 1 ? Input(run) : Scratch(run);
        };
        const bool last = 2 * d >= p;
        SplitMessages(b, CountOffsets(p, d), [&](int first, int count, int inner) {
          const int start = rank + 2 * d * first;
          const ChunkRun keep = blocks(start, d, count, inner);
          b.Add(Copy(partial(blocks(start + d, d, count, inner)), {b.To(to, count)}));
          const Step step =
              Reduce({b.From(from, count), partial(keep)}, {last ? output : Scratch(keep)});
          b.Add(last ? Final(step) : step);
        });
      }
    });
  }
  return b.Take();
}

}  // namespace hockney
