#include "collectives/algorithms/families.h"
#include "collectives/builder.h"

namespace hockney {

RankProgram PairwiseAllToAll(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const int p = b.ranks();
  const PeerIndex to = {.start = Rank(rank + 1).start, .inner = 1, .inner2 = 0};
  const PeerIndex from = {.start = Rank(rank - 1).start, .inner = -1, .inner2 = 0};
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      b.Add(Copy(Input(b.Block(lane, rank)), {Output(b.Block(lane, rank))}));
      b.Repeat(p - 1, 1, [&] {
        b.Add(Copy(Input(Around(Along(b.Block(lane, rank + 1), 1), p)), {b.To(to)}));
        b.Add(Copy(b.From(from), {Output(Around(Along(b.Block(lane, rank - 1), -1), p))}));
      });
    });
  }
  return b.Take();
}

RankProgram PairwiseReduceScatter(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const int p = b.ranks();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const Operand output = Output(b.Own(lane));
    // Exchange at distances distance, distance + 1, ... by the inner loop.
    const auto exchange = [&](int distance, const Operand& own, bool last) {
      const PeerIndex to = {.start = Rank(rank + distance).start, .inner = 1, .inner2 = 0};
      const PeerIndex from = {.start = Rank(rank - distance).start, .inner = -1, .inner2 = 0};
      b.Add(Copy(Input(Around(Along(b.Block(lane, rank + distance), 1), p)), {b.To(to)}));
      const Step step = Reduce({own, b.From(from)}, {output});
      b.Add(last ? Final(step) : step);
    };
    b.AddLane([&] {
      const Operand own = Input(b.Block(lane, rank));
      if (p == 1) {
        b.Add(Final(Reduce({own}, {output})));
        return;
      }
      exchange(1, own, p == 2);
      b.Repeat(p - 3, 1, [&] { exchange(2, output, false); });
      if (p > 2) exchange(p - 1, output, true);
    });
  }
  return b.Take();
}

}  // namespace hockney
