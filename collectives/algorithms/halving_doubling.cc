#include <algorithm>

#include "collectives/algorithms/families.h"
#include "collectives/algorithms/recursive.h"
#include "collectives/builder.h"

namespace hockney {

RankProgram HalvingAllReduce(const Shape& shape, int rank, const Parameters& parameters) {
  const Fold fold = FindFold(shape.ranks, rank);
  Builder b(shape, rank, parameters, fold.power);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const ChunkRun all = b.Part(lane, 0, fold.power);
    b.AddLane([&] {
      bool first = true;  // partial sums live in the output, once there are any
      const auto partial = [&](const ChunkRun& run) { return first ? Input(run) : Output(run); };
      if (b.ranks() == 1) b.Add(Final(Reduce({Input(all)}, {Output(all)})));
      if (fold.is_extra) {
        b.Add(Copy(Input(all), {b.To(Rank(fold.partner), fold.power)}));
        b.Add(Copy(b.From(Rank(fold.partner), fold.power), {Output(all)}));
        return;
      }
      if (fold.partner >= 0) {
        b.Add(ReduceInRankOrder(b, fold.partner, Input(all), Output(all)));
        first = false;
      }
      for (int half = fold.power / 2; half >= 1; half /= 2) {
        const int peer = rank ^ half;
        const ChunkRun give = b.Part(lane, peer & ~(half - 1), half);
        const ChunkRun keep = b.Part(lane, rank & ~(half - 1), half);
        b.Add(Copy(partial(give), {b.To(Rank(peer), half)}));
        const Step step = ReduceInRankOrder(b, peer, partial(keep), Output(keep));
        b.Add(half == 1 ? Final(step) : step);
        first = false;
      }
      for (int half = 1; half < fold.power; half *= 2) {
        const int peer = rank ^ half;
        b.Add(Copy(Output(b.Part(lane, rank & ~(half - 1), half)), {b.To(Rank(peer), half)}));
        b.Add(Copy(b.From(Rank(peer), half), {Output(b.Part(lane, peer & ~(half - 1), half))}));
      }
      if (fold.partner >= 0) b.Add(Copy(Output(all), {b.To(Rank(fold.partner), fold.power)}));
    });
  }
  return b.Take();
}

RankProgram HalvingReduceScatter(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  b.UseScratch();
  const Fold fold = FindFold(b.ranks(), rank);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const ChunkRun all = b.Block(lane, 0, b.ranks());
    // The blocks of the `size` ranks at `low` and of their extras.
    const auto group = [&](int low, int size) {
      const int extras = std::clamp(fold.extras - low, 0, size);
      return Strided(b.Block(lane, low, size + extras), size, fold.power);
    };
    b.AddLane([&] {
      bool first = true;
      const auto partial = [&](const ChunkRun& run) { return first ? Input(run) : Scratch(run); };
      const Operand output = Output(b.Own(lane));
      if (b.ranks() == 1) b.Add(Final(Reduce({Input(all)}, {output})));
      if (fold.is_extra) {
        b.Add(Copy(Input(all), {b.To(Rank(fold.partner), b.ranks())}));
        b.Add(Copy(b.From(Rank(fold.partner)), {output}));
        return;
      }
      if (fold.partner >= 0) {
        b.Add(ReduceInRankOrder(b, fold.partner, Input(all), Scratch(all)));
        first = false;
      }
      for (int half = fold.power / 2; half >= 1; half /= 2) {
        const int peer = rank ^ half;
        const ChunkRun give = group(peer & ~(half - 1), half);
        const ChunkRun keep = group(rank & ~(half - 1), half);
        b.Add(Copy(partial(give), {b.To(Rank(peer), give.count)}));
        const bool last = half == 1;
        const Operand target = last && fold.partner < 0 ? output : Scratch(keep);
        const Step step = ReduceInRankOrder(b, peer, partial(keep), target);
        b.Add(last ? Final(step) : step);
        first = false;
      }
      if (fold.partner >= 0) {
        b.Add(Copy(Scratch(b.Block(lane, rank)), {output}));
        b.Add(Copy(Scratch(b.Block(lane, fold.partner)), {b.To(Rank(fold.partner))}));
      }
    });
  }
  return b.Take();
}

}  // namespace hockney
