#include "collectives/algorithms/families.h"
#include "collectives/builder.h"

namespace hockney {
namespace {

// All ranks are in the call: between two meetings a rank may touch its peers' buffers. A step takes
// its waits before it gives its posts, so this is two steps.
void Meet(Builder& b) {
  if (b.ranks() == 1) return;
  b.Add(Post(AllPeers()));
  b.Add(Wait(AllPeers()));
}

// One lane a data lane: `work(lane)` between two meetings of all ranks.
template <class Work>
RankProgram BetweenMeetings(Builder b, Work work) {
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      Meet(b);
      work(b, lane);
      Meet(b);
    });
  }
  return b.Take();
}

}  // namespace

RankProgram OneShotAllReduce(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  if (parameters.protocol == Protocol::kLl) {
    for (int lane = 0; lane < b.lanes(); ++lane) {
      b.AddLane([&] {
        b.Add(Copy(Input(b.Part(lane)), {b.ToAll()}));
        b.Add(Final(Reduce({b.FromAll()}, {Output(b.Part(lane))})));
      });
    }
    return b.Take();
  }
  if (!parameters.in_place) {
    return BetweenMeetings(std::move(b), [](Builder& to, int lane) {
      to.Add(Final(Reduce({AtAll(Input(to.Part(lane)))}, {Output(to.Part(lane))})));
    });
  }
  // Peers still read this rank's input while it has its result: the result waits in scratch.
  b.UseScratch();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    b.AddLane([&] {
      Meet(b);
      b.Add(Final(Reduce({AtAll(Input(b.Part(lane)))}, {Scratch(b.Part(lane))})));
      Meet(b);
      b.Add(Copy(Scratch(b.Part(lane)), {Output(b.Part(lane))}));
    });
  }
  return b.Take();
}

RankProgram TwoShotAllReduce(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters, shape.ranks);
  if (parameters.protocol == Protocol::kSimple) {
    return BetweenMeetings(std::move(b), [rank](Builder& to, int lane) {
      const ChunkRun mine = to.Part(lane, rank);
      to.Add(Final(Reduce({AtAll(Input(mine))}, {AtAll(Output(mine))})));
    });
  }
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const ChunkRun turning = Around(Along(b.Part(lane, rank), 1), b.ranks());
    const PeerIndex turning_peer = {.start = Rank(rank).start, .inner = 1, .inner2 = 0};
    b.AddLane([&] {
      b.Repeat(b.ranks(), 1, [&] { b.Add(Copy(Input(turning), {b.To(turning_peer)})); });
      b.Add(Final(Reduce({b.FromAll()}, {b.ToAll()})));
      b.Repeat(b.ranks(), 1, [&] { b.Add(Copy(b.From(turning_peer), {Output(turning)})); });
    });
  }
  return b.Take();
}

RankProgram DirectReduceScatter(const Shape& shape, int rank, const Parameters& parameters) {
  return BetweenMeetings(Builder(shape, rank, parameters), [rank](Builder& b, int lane) {
    b.Add(Final(Reduce({AtAll(Input(b.Block(lane, rank)))}, {Output(b.Own(lane))})));
  });
}

RankProgram DirectAllGather(const Shape& shape, int rank, const Parameters& parameters) {
  return BetweenMeetings(Builder(shape, rank, parameters), [rank](Builder& b, int lane) {
    b.Add(Copy(Input(b.Own(lane)), {AtAll(Output(b.Block(lane, rank)))}));
  });
}

RankProgram DirectAllToAll(const Shape& shape, int rank, const Parameters& parameters) {
  return BetweenMeetings(Builder(shape, rank, parameters), [rank](Builder& b, int lane) {
    b.Repeat(b.ranks(), 1, [&] {
      const PeerIndex turning = {.start = Rank(rank).start, .inner = 1, .inner2 = 0};
      const ChunkRun theirs = Around(Along(b.Block(lane, rank), 1), b.ranks());
      b.Add(Copy(At(turning, Input(b.Block(lane, rank))), {Output(theirs)}));
    });
  });
}

RankProgram DirectBroadcast(const Shape& shape, int rank, const Parameters& parameters) {
  return BetweenMeetings(Builder(shape, rank, parameters, shape.ranks),
                         [rank](Builder& b, int lane) {
                           const ChunkRun mine = b.Part(lane, rank);
                           b.Add(Copy(At(Rank(b.root()), Input(mine)), {AtAll(Output(mine))}));
                         });
}

RankProgram DirectReduce(const Shape& shape, int rank, const Parameters& parameters) {
  return BetweenMeetings(
      Builder(shape, rank, parameters, shape.ranks), [rank](Builder& b, int lane) {
        const ChunkRun mine = b.Part(lane, rank);
        b.Add(Final(Reduce({AtAll(Input(mine))}, {At(Rank(b.root()), Output(mine))})));
      });
}

RankProgram DirectGather(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const Event root = Peer(Rank(b.root()));
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const Operand block = Output(b.Block(lane, rank));
    b.AddLane([&] {
      if (rank == b.root()) {
        b.Add(Post(AllPeers()));
        b.Add(Copy(Input(b.Own(lane)), {block}));
        b.Add(Wait(AllPeers()));
      } else {
        b.Add(Wait(root, Post(root, Copy(Input(b.Own(lane)), {At(Rank(b.root()), block)}))));
      }
    });
  }
  return b.Take();
}

RankProgram DirectScatter(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const Event root = Peer(Rank(b.root()));
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const Operand block = Input(b.Block(lane, rank));
    b.AddLane([&] {
      if (rank == b.root()) {
        b.Add(Post(AllPeers()));
        b.Add(Copy(block, {Output(b.Own(lane))}));
        b.Add(Wait(AllPeers()));
      } else {
        b.Add(Wait(root, Post(root, Copy(At(Rank(b.root()), block), {Output(b.Own(lane))}))));
      }
    });
  }
  return b.Take();
}

RankProgram DirectBarrier(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  b.AddLane([&] { Meet(b); });
  return b.Take();
}

RankProgram DirectShift(const Shape& shape, int rank, const Parameters& parameters) {
  Builder b(shape, rank, parameters);
  const int next = (rank + 1) % b.ranks();
  const int previous = (rank + b.ranks() - 1) % b.ranks();
  for (int lane = 0; lane < b.lanes(); ++lane) {
    const Operand input = Input(b.Part(lane));
    const Operand output = Output(b.Part(lane));
    b.AddLane([&] {
      if (b.ranks() == 1) {
        b.Add(Copy(input, {output}));
        return;
      }
      b.Add(Post(Peer(Rank(next))));
      b.Add(Wait(Peer(Rank(previous)),
                 Post(Peer(Rank(previous)), Copy(At(Rank(previous), input), {output}))));
      b.Add(Wait(Peer(Rank(next))));
    });
  }
  return b.Take();
}

}  // namespace hockney
