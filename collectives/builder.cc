#include "collectives/builder.h"

#include <limits>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

// Sums of two ranks are indices of 16 bits, too; what exceeds them is refused where it occurs.
constexpr int kMostRanks = 16384;

std::int16_t Narrow(int value) {
  if (value < std::numeric_limits<std::int16_t>::min() ||
      value > std::numeric_limits<std::int16_t>::max()) {
    throw std::invalid_argument("program: index " + std::to_string(value) + " exceeds 16 bits");
  }
  return static_cast<std::int16_t>(value);
}

Operand InBuffer(Buffer buffer, const ChunkRun& run) {
  return {.place = Place::kSelf, .buffer = buffer, .peer = {}, .run = run};
}

Step MakeStep(std::initializer_list<Operand> sources, std::initializer_list<Operand> destinations) {
  if (sources.size() > kMaxOperands || destinations.size() > kMaxOperands) {
    throw std::invalid_argument("program: a step has at most 3 sources and 3 destinations");
  }
  Step step;
  for (const Operand& operand : sources) step.source[step.source_count++] = operand;
  for (const Operand& operand : destinations) step.destination[step.destination_count++] = operand;
  return step;
}

}  // namespace

Step Copy(const Operand& source, std::initializer_list<Operand> destinations) {
  return MakeStep({source}, destinations);
}

Step Reduce(std::initializer_list<Operand> sources, std::initializer_list<Operand> destinations) {
  Step step = MakeStep(sources, destinations);
  step.reduce = true;
  return step;
}

Step Final(Step step) {
  step.final = true;
  return step;
}

Step Wait(Event event, Step step) {
  step.wait[step.wait_count++] = event;
  return step;
}

Step Post(Event event, Step step) {
  step.post[step.post_count++] = event;
  return step;
}

Operand Input(const ChunkRun& run) { return InBuffer(Buffer::kInput, run); }
Operand Output(const ChunkRun& run) { return InBuffer(Buffer::kOutput, run); }
Operand Scratch(const ChunkRun& run) { return InBuffer(Buffer::kScratch, run); }

Operand At(PeerIndex peer, Operand self) {
  self.place = Place::kPeer;
  self.peer = peer;
  return self;
}

Operand AtAll(Operand self) {
  self.place = Place::kAllPeers;
  return self;
}

Event Peer(PeerIndex peer) { return {.kind = EventKind::kPeer, .peer = peer}; }
Event AllPeers() { return {.kind = EventKind::kAllPeers, .peer = {}}; }
Event OtherLane(int lane) {
  return {.kind = EventKind::kLane, .peer = {.start = Narrow(lane), .inner = 0, .inner2 = 0}};
}

PeerIndex Rank(int rank) { return {.start = Narrow(rank), .inner = 0, .inner2 = 0}; }

Builder::Builder(const Shape& shape, int rank, const Parameters& parameters, int parts,
                 int layout_lanes_per_lane)
    : parameters_(parameters), parts_(parts) {
  if (shape.ranks < 1 || shape.ranks > kMostRanks) {
    throw std::invalid_argument("program: " + std::to_string(shape.ranks) + " ranks, expected 1.." +
                                std::to_string(kMostRanks));
  }
  if (rank < 0 || rank >= shape.ranks || shape.root < 0 || shape.root >= shape.ranks) {
    throw std::invalid_argument("program: rank or root outside 0.." +
                                std::to_string(shape.ranks - 1));
  }
  if (parameters.lanes < 1 || parameters.pieces < 1) {
    throw std::invalid_argument("program: lanes and pieces must be at least 1");
  }
  program_.shape = shape;
  program_.rank = rank;
  program_.cut = {.lanes = parameters.lanes * layout_lanes_per_lane,
                  .chunks = parameters.pieces * parts};
}

void Builder::AddLane(const std::function<void()>& body) {
  program_.lanes.emplace_back();
  Repeat(parameters_.pieces, 0, body);
}

void Builder::Add(const Step& step) {
  Lane& lane = program_.lanes.back();
  if (lane.step_count == kMaxSteps)
    throw std::invalid_argument("program: more than 72 steps in a lane");
  lane.steps[lane.step_count++] = step;
}

void Builder::Repeat(int count, int depth, const std::function<void()>& body) {
  if (count < 1) return;
  const std::int16_t begin = program_.lanes.back().step_count;
  body();
  Lane& lane = program_.lanes.back();
  if (count == 1 || lane.step_count == begin) return;
  if (lane.loop_count == kMaxLoops)
    throw std::invalid_argument("program: more than 20 loops in a lane");
  lane.loops[lane.loop_count++] = {
      .begin = begin, .end = lane.step_count, .depth = Narrow(depth), .count = count};
}

Operand Builder::From(PeerIndex peer, int chunks) const {
  Operand operand = FromAll();
  operand.place = Place::kFifo;
  operand.peer = peer;
  operand.run.count = Narrow(chunks);
  return operand;
}

Operand Builder::To(PeerIndex peer, int chunks) const { return From(peer, chunks); }

Operand Builder::FromAll() const {
  const Buffer buffer = parameters_.protocol == Protocol::kLl ? Buffer::kPackets : Buffer::kSlots;
  return {.place = Place::kAllFifos, .buffer = buffer, .peer = {}, .run = {}};
}

Operand Builder::ToAll() const { return FromAll(); }

ChunkRun Builder::Part(int layout_lane, int start, int count) const {
  ChunkRun run;
  run.base = layout_lane * parameters_.pieces * parts_;
  run.outer = parts_;
  run.start = Narrow(start);
  run.count = Narrow(count);
  return run;
}

ChunkRun Builder::Block(int lane, int start, int count) const {
  ChunkRun run;
  run.base = lane * parameters_.pieces;
  run.outer = 1;
  run.scale = parameters_.lanes * parameters_.pieces;
  run.start = Narrow(start);
  run.count = Narrow(count);
  return run;
}

ChunkRun Around(ChunkRun run, int modulus) {
  run.modulus = Narrow(modulus);
  return run;
}

ChunkRun Along(ChunkRun run, int inner, int inner2) {
  run.inner = Narrow(inner);
  run.inner2 = Narrow(inner2);
  return run;
}

ChunkRun Strided(ChunkRun run, int block, int stride) {
  run.block = Narrow(block);
  run.stride = Narrow(stride);
  return run;
}

int FloorPowerOfTwo(int n) {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

int CeilLog2(int n) {
  int log = 0;
  while ((1 << log) < n) ++log;
  return log;
}

}  // namespace hockney
