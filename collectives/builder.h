#pragma once

#include <functional>
#include <initializer_list>

#include "collectives/program.h"

// What the functions in algorithms/ write programs with.
namespace hockney {

// Shapes of the step form. `Copy` takes one source; `Reduce` combines its sources in listed order.
Step Copy(const Operand& source, std::initializer_list<Operand> destinations);
Step Reduce(std::initializer_list<Operand> sources, std::initializer_list<Operand> destinations);
Step Final(Step step);
Step Wait(Event event, Step step = Step());
Step Post(Event event, Step step = Step());

Operand Input(const ChunkRun& run);
Operand Output(const ChunkRun& run);
Operand Scratch(const ChunkRun& run);
Operand At(PeerIndex peer, Operand self);  // the same chunks at one peer
Operand AtAll(Operand self);               // the same chunks at every rank

Event Peer(PeerIndex peer);
Event AllPeers();
Event OtherLane(int lane);

PeerIndex Rank(int rank);

// Builds one RankProgram. Data lanes and pieces come from the parameters: AddLane repeats its body
// for every piece, and the runs below pick the current piece's part of the current data lane.
class Builder {
 public:
  // `parts`: into how many chunks each piece of a block is cut. `lanes_per_data_lane` layout lanes
  // share a data lane (2 for the double tree). Throws std::invalid_argument for ranks, lanes or
  // pieces out of range.
  Builder(const Shape& shape, int rank, const Parameters& parameters, int parts = 1,
          int layout_lanes_per_lane = 1);

  int ranks() const { return program_.shape.ranks; }
  int rank() const { return program_.rank; }
  int root() const { return program_.shape.root; }
  int lanes() const { return parameters_.lanes; }
  const Parameters& parameters() const { return parameters_; }
  void UseScratch() { program_.uses_scratch = true; }

  // Adds a lane; `body` adds its steps.
  void AddLane(const std::function<void()>& body);
  void Add(const Step& step);
  // Repeats what `body` adds, with loop counter `depth` (1 or 2); nothing for count < 1.
  void Repeat(int count, int depth, const std::function<void()>& body);

  // A message from, or to, a rank, of `chunks` chunks; and one from, or to, every rank.
  Operand From(PeerIndex peer, int chunks = 1) const;
  Operand To(PeerIndex peer, int chunks = 1) const;
  Operand FromAll() const;
  Operand ToAll() const;

  // Runs over the current piece: part `start` of the one block (Part), block `start` of a
  // many-block buffer (Block), the one block of a short buffer (Own).
  ChunkRun Part(int layout_lane, int start = 0, int count = 1) const;
  ChunkRun Block(int lane, int start, int count = 1) const;
  ChunkRun Own(int lane) const { return Block(lane, 0); }

  RankProgram Take() { return std::move(program_); }

 private:
  RankProgram program_;
  Parameters parameters_;
  int parts_ = 1;
};

// Returns the run with a modulus, or with loop coefficients.
ChunkRun Around(ChunkRun run, int modulus);
ChunkRun Along(ChunkRun run, int inner, int inner2 = 0);
ChunkRun Strided(ChunkRun run, int block, int stride);

// The largest power of two that is at most n (n >= 1), and ceil(log2 n).
int FloorPowerOfTwo(int n);
int CeilLog2(int n);

}  // namespace hockney
