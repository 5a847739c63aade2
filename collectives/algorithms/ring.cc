#include "collectives/algorithms/families.h"
#include "collectives/builder.h"

namespace hockney {
namespace {

PeerIndex Next(const Builder& b) { return Rank((b.rank() + 1) % b.ranks()); }
PeerIndex Previous(const Builder& b) { return Rank((b.rank() + b.ranks() - 1) % b.ranks()); }

// Block `start` on step 0 and one block less with every step of the inner loop.
ChunkRun Backwards(const Builder& b, ChunkRun run) { return Around(Along(run, -1), b.ranks()); }

// Adds the gathering half: this rank's chunk of `run_of(start)` went out already, p-1 more pass
// through.
template <class RunOf>
void PassAround(Builder& b, int first_start, RunOf run_of) {
  b.Repeat(b.ranks() - 2, 1, [&] {
    b.Add(Copy(b.From(Previous(b)), {Output(Backwards(b, run_of(first_start))), b.To(Next(b))}));
  });
  const int last = first_start - (b.ranks() - 2);
  b.Add(Copy(b.From(Previous(b)), {Output(Around(run_of(last), b.ranks()))}));
}

}  // namespace

RankProgram RingAllReduce(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters, shape.ranks);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const auto part = [&](int start) { return Around(b.Part(lane, start), b.ranks()); };
    b.AddLane([&] {
      if (b.ranks() == 1) {
        b.Add(Final(Reduce({Input(part(0))}, {Output(part(0))})));
        return;
      }
      b.Add(Copy(Input(part(rank)), {b.To(Next(b))}));
      b.Repeat(b.ranks() - 2, 1, [&] {
        b.Add(Reduce({b.From(Previous(b)), Input(Backwards(b, part(rank - 1)))}, {b.To(Next(b))}));
      });
      b.Add(Final(Reduce({b.From(Previous(b)), Input(part(rank + 1))},
                         {Output(part(rank + 1)), b.To(Next(b))})));
      PassAround(b, rank, part);
    });
  }
  return b.Take();
}

RankProgram RingReduceScatter(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const auto block = [&](int start) { return Around(b.Block(lane, start), b.ranks()); };
    b.AddLane([&] {
      if (b.ranks() == 1) {
        b.Add(Final(Reduce({Input(block(0))}, {Output(b.Own(lane))})));
        return;
      }
      b.Add(Copy(Input(block(rank - 1)), {b.To(Next(b))}));
      b.Repeat(b.ranks() - 2, 1, [&] {
        b.Add(Reduce({b.From(Previous(b)), Input(Backwards(b, block(rank - 2)))}, {b.To(Next(b))}));
      });
      b.Add(Final(Reduce({b.From(Previous(b)), Input(block(rank))}, {Output(b.Own(lane))})));
    });
  }
  return b.Take();
}

RankProgram RingAllGather(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const auto block = [&](int start) { return Around(b.Block(lane, start), b.ranks()); };
    b.AddLane([&] {
      if (b.ranks() == 1) {
        b.Add(Copy(Input(b.Own(lane)), {Output(block(0))}));
        return;
      }
      b.Add(Copy(Input(b.Own(lane)), {Output(block(rank)), b.To(Next(b))}));
      PassAround(b, rank - 1, block);
    });
  }
  return b.Take();
}

RankProgram RingBroadcast(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const bool first = rank == b.root();
  const bool last = (rank + 1) % b.ranks() == b.root();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      const Operand source = first ? Input(b.Part(lane)) : b.From(Previous(b));
      if (last) {
        b.Add(Copy(source, {Output(b.Part(lane))}));
      } else {
        b.Add(Copy(source, {Output(b.Part(lane)), b.To(Next(b))}));
      }
    });
  }
  return b.Take();
}

RankProgram RingReduce(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const bool last = rank == b.root();
  const bool first = (rank + b.ranks() - 1) % b.ranks() == b.root();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const Operand input = Input(b.Part(lane));
    const Operand output = Output(b.Part(lane));
    b.AddLane([&] {
      if (b.ranks() == 1) {
        b.Add(Final(Reduce({input}, {output})));
      } else if (first) {
        b.Add(Copy(input, {b.To(Next(b))}));
      } else if (last) {
        b.Add(Final(Reduce({b.From(Previous(b)), input}, {output})));
      } else {
        b.Add(Reduce({b.From(Previous(b)), input}, {b.To(Next(b))}));
      }
    });
  }
  return b.Take();
}

RankProgram RingShift(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      b.Add(Copy(Input(b.Part(lane)), {b.To(Next(b))}));
      b.Add(Copy(b.From(Previous(b)), {Output(b.Part(lane))}));
    });
  }
  return b.Take();
}

}  // namespace hockney
