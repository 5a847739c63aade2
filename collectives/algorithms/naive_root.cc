#include "collectives/algorithms/families.h"
#include "collectives/builder.h"

namespace hockney {
namespace {

// Rank root + distance, and on by one with every iteration of the inner loop.
PeerIndex FromRoot(const Builder& b, int distance) {
  return {.start = Rank(b.root() + distance).start, .inner = 1, .inner2 = 0};
}

// At the root: own input, then every other rank's message in turn, added up in `sum`.
void AddUp(Builder& b, const Operand& own, const Operand& sum) {
  const int p = b.ranks();
  const int chunks = own.run.count;
  if (p == 1) {
    b.Add(Final(Reduce({own}, {sum})));
    return;
  }
  const Step first = Reduce({own, b.From(FromRoot(b, 1), chunks)}, {sum});
  b.Add(p == 2 ? Final(first) : first);
  b.Repeat(p - 3, 1, [&] { b.Add(Reduce({sum, b.From(FromRoot(b, 2), chunks)}, {sum})); });
  if (p > 2) b.Add(Final(Reduce({sum, b.From(FromRoot(b, p - 1), chunks)}, {sum})));
}

// At the root: the same chunks to every other rank.
void Spread(Builder& b, const Operand& source) {
  b.Repeat(b.ranks() - 1, 1,
           [&] { b.Add(Copy(source, {b.To(FromRoot(b, 1), source.run.count)})); });
}

// One lane a data lane, with one body for the root and one for the others.
template <class AtRoot, class Elsewhere>
RankProgram ByRole(Builder b, AtRoot at_root, Elsewhere elsewhere) {
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      if (b.rank() == b.root()) {
        at_root(b, lane);
      } else {
        elsewhere(b, lane, Rank(b.root()));
      }
    });
  }
  return b.Take();
}

}  // namespace

RankProgram NaiveAllReduce(const Shape& shape, int rank, const Parameters& parameters) {
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) {
        AddUp(b, Input(b.Part(lane)), Output(b.Part(lane)));
        Spread(b, Output(b.Part(lane)));
      },
      [](Builder& b, int lane, PeerIndex root) {
        b.Add(Copy(Input(b.Part(lane)), {b.To(root)}));
        b.Add(Copy(b.From(root), {Output(b.Part(lane))}));
      });
}

RankProgram NaiveReduceScatter(const Shape& shape, int rank, const Parameters& parameters) {
  Builder builder(shape, rank, parameters);
  builder.UseScratch();
  return ByRole(
      std::move(builder),
      [](Builder& b, int lane) {
        const int p = b.ranks();
        const ChunkRun all = b.Block(lane, 0, p);
        AddUp(b, Input(all), Scratch(all));
        b.Add(Copy(Scratch(b.Block(lane, b.root())), {Output(b.Own(lane))}));
        b.Repeat(p - 1, 1, [&] {
          const ChunkRun theirs = Around(Along(b.Block(lane, b.root() + 1), 1), p);
          b.Add(Copy(Scratch(theirs), {b.To(FromRoot(b, 1))}));
        });
      },
      [](Builder& b, int lane, PeerIndex root) {
        b.Add(Copy(Input(b.Block(lane, 0, b.ranks())), {b.To(root, b.ranks())}));
        b.Add(Copy(b.From(root), {Output(b.Own(lane))}));
      });
}

RankProgram NaiveAllGather(const Shape& shape, int rank, const Parameters& parameters) {
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) {
        const int p = b.ranks();
        b.Add(Copy(Input(b.Own(lane)), {Output(b.Block(lane, b.root()))}));
        b.Repeat(p - 1, 1, [&] {
          const ChunkRun theirs = Around(Along(b.Block(lane, b.root() + 1), 1), p);
          b.Add(Copy(b.From(FromRoot(b, 1)), {Output(theirs)}));
        });
        Spread(b, Output(b.Block(lane, 0, p)));
      },
      [](Builder& b, int lane, PeerIndex root) {
        b.Add(Copy(Input(b.Own(lane)), {b.To(root)}));
        b.Add(Copy(b.From(root, b.ranks()), {Output(b.Block(lane, 0, b.ranks()))}));
      });
}

RankProgram NaiveAllToAll(const Shape& shape, int rank, const Parameters& parameters) {
  // Turn t: rank root + t sends all its blocks to the root, which passes each on as it comes, also
  // the one that goes back to the sender. Every rank takes one block a turn, so that no message
  // waits for one behind it.
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) {
        const int p = b.ranks();
        const int root = b.root();
        const auto around = [&](int inner, int inner2) {
          return Around(Along(b.Block(lane, root + 1), inner, inner2), p);
        };
        b.Add(Copy(Input(b.Block(lane, root)), {Output(b.Block(lane, root))}));
        b.Repeat(p - 1, 1, [&] { b.Add(Copy(Input(around(1, 0)), {b.To(FromRoot(b, 1))})); });
        b.Repeat(p - 1, 1, [&] {
          b.Add(Copy(b.From(FromRoot(b, 1)), {Output(around(1, 0))}));
          b.Repeat(p - 1, 2, [&] {
            const PeerIndex target = {.start = Rank(root + 1).start, .inner = 0, .inner2 = 1};
            b.Add(Copy(b.From(FromRoot(b, 1)), {b.To(target)}));
          });
        });
      },
      [](Builder& b, int lane, PeerIndex root) {
        const int p = b.ranks();
        const int turn = (b.rank() - b.root() + p) % p;
        // Takes the root's blocks of turns first .. last - 1.
        const auto take = [&](int first, int last) {
          b.Repeat(last - first, 1, [&] {
            const ChunkRun theirs = Around(Along(b.Block(lane, b.root() + first), 1), p);
            b.Add(Copy(b.From(root), {Output(theirs)}));
          });
        };
        take(0, turn);
        b.Repeat(p, 1, [&] {
          b.Add(Copy(Input(Around(Along(b.Block(lane, b.root()), 1), p)), {b.To(root)}));
        });
        take(turn, p);
      });
}

RankProgram NaiveBroadcast(const Shape& shape, int rank, const Parameters& parameters) {
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) {
        b.Add(Copy(Input(b.Part(lane)), {Output(b.Part(lane))}));
        Spread(b, Input(b.Part(lane)));
      },
      [](Builder& b, int lane, PeerIndex root) {
        b.Add(Copy(b.From(root), {Output(b.Part(lane))}));
      });
}

RankProgram NaiveReduce(const Shape& shape, int rank, const Parameters& parameters) {
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) { AddUp(b, Input(b.Part(lane)), Output(b.Part(lane))); },
      [](Builder& b, int lane, PeerIndex root) { b.Add(Copy(Input(b.Part(lane)), {b.To(root)})); });
}

RankProgram NaiveGather(const Shape& shape, int rank, const Parameters& parameters) {
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) {
        b.Add(Copy(Input(b.Own(lane)), {Output(b.Block(lane, b.root()))}));
        b.Repeat(b.ranks() - 1, 1, [&] {
          const ChunkRun theirs = Around(Along(b.Block(lane, b.root() + 1), 1), b.ranks());
          b.Add(Copy(b.From(FromRoot(b, 1)), {Output(theirs)}));
        });
      },
      [](Builder& b, int lane, PeerIndex root) { b.Add(Copy(Input(b.Own(lane)), {b.To(root)})); });
}

RankProgram NaiveScatter(const Shape& shape, int rank, const Parameters& parameters) {
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) {
        b.Add(Copy(Input(b.Block(lane, b.root())), {Output(b.Own(lane))}));
        b.Repeat(b.ranks() - 1, 1, [&] {
          const ChunkRun theirs = Around(Along(b.Block(lane, b.root() + 1), 1), b.ranks());
          b.Add(Copy(Input(theirs), {b.To(FromRoot(b, 1))}));
        });
      },
      [](Builder& b, int lane, PeerIndex root) {
        b.Add(Copy(b.From(root), {Output(b.Own(lane))}));
      });
}

RankProgram NaiveBarrier(const Shape& shape, int rank, const Parameters& parameters) {
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int) {
        b.Add(Wait(AllPeers()));
        b.Add(Post(AllPeers()));
      },
      [](Builder& b, int, PeerIndex root) {
        b.Add(Post(Peer(root)));
        b.Add(Wait(Peer(root)));
      });
}

RankProgram NaiveShift(const Shape& shape, int rank, const Parameters& parameters) {
  // The root takes the messages of ranks root - 1, root, root + 1, ... and passes each to the next
  // rank.
  return ByRole(
      Builder(shape, rank, parameters),
      [](Builder& b, int lane) {
        const int p = b.ranks();
        const Operand input = Input(b.Part(lane));
        const Operand output = Output(b.Part(lane));
        if (p == 1) {
          b.Add(Copy(input, {output}));
          return;
        }
        b.Add(Copy(input, {b.To(FromRoot(b, 1))}));
        b.Repeat(p - 2, 1, [&] { b.Add(Copy(b.From(FromRoot(b, 1)), {b.To(FromRoot(b, 2))})); });
        b.Add(Copy(b.From(FromRoot(b, p - 1)), {output}));
      },
      [](Builder& b, int lane, PeerIndex root) {
        b.Add(Copy(Input(b.Part(lane)), {b.To(root)}));
        b.Add(Copy(b.From(root), {Output(b.Part(lane))}));
      });
}

}  // namespace hockney
