#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "collectives/algorithms/embedding.h"
#include "collectives/algorithms/families.h"
#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/wire_fractions.h"
#include "collectives/builder.h"
#include "collectives/levels.h"

namespace hockney {
namespace {

using enum Collective;

// A phase as both the builder and the traffic formula need it.
struct PlannedPhase {
  const Algorithm* row = nullptr;
  Shape shape{};                      // among the members
  std::vector<std::int16_t> members;  // ranks of the job
  int index = 0;                      // of this rank among them
  bool present = true;                // whether this rank has a part in it
  double fraction = 1;                // of the collective's size that it works on
  Window input;
  Window output;
  Window scratch;
  int fine = 1;
  bool completes = false;
};

// Plans the phases of one data lane of a rank. Chunks are counted by the hierarchy's grid: the unit
// of a level is everything below it, so that each level's units are evenly spaced.
class Planner {
 public:
  Planner(const Shape& shape, int rank, const Parameters& parameters);

  const Cut& cut() const { return cut_; }
  const Parameters& inner() const { return inner_; }
  std::vector<PlannedPhase> Plan(int lane);

 private:
  static bool HasBlocks(Collective c) {
    return c == kReduceScatter || c == kAllGather || c == kAllToAll;
  }
  int levels() const { return static_cast<int>(hierarchy_.levels.size()); }
  int top() const { return levels() - 1; }
  const Algorithm& RowOf(Collective part, int level) const;
  void MakeCut();
  // `offset` and `unit` in grid units.
  Window At(Buffer buffer, int offset, int unit, int distance = 1) const;
  Window OwnBlock(Buffer buffer) const;
  PlannedPhase MakePhase(Collective part, int level) const;
  // Input, output and scratch of a phase on the level's units of those buffers.
  PlannedPhase OnBuffers(PlannedPhase phase, int level, Buffer input, Buffer output) const;
  bool AboveRoot(int level) const;
  PlannedPhase AmongSharers(Collective part) const;

  std::vector<PlannedPhase> PlanAllReduce() const;
  std::vector<PlannedPhase> PlanReduceScatter() const;
  std::vector<PlannedPhase> PlanAllGather() const;
  std::vector<PlannedPhase> PlanAllToAll() const;
  std::vector<PlannedPhase> PlanBroadcast() const;
  std::vector<PlannedPhase> PlanReduce() const;

  Shape shape_;
  Parameters parameters_;
  Parameters inner_;
  Hierarchy hierarchy_;
  Hierarchy root_;  // of collectives that have one
  Cut cut_;
  bool is_root_ = false;
  int top_units_ = 1;          // parts of a piece that the top cuts for itself
  std::vector<int> unit_;      // of each level, in grid units
  std::vector<int> offset_;    // of this rank's part before each level
  std::vector<double> share_;  // of the vector that each level works on
  int lane_ = 0;
};

Levels WithDefaults(Collective collective, const Parameters& parameters) {
  if (parameters.levels != Levels{}) return parameters.levels;
  return UsualLevels(collective, parameters.protocol, nullptr).at(0);
}

// all_to_all stages blocks by (source, node of the target), so nodes must be alike.
Hierarchy FindPlace(const Shape& shape, int rank, const Parameters& parameters) {
  if (shape.collective != kAllToAll || parameters.placement == nullptr) {
    return FindHierarchy(shape.ranks, rank, parameters);
  }
  const RankPlacement equal = EqualNodes(*parameters.placement);
  Parameters placed = parameters;
  placed.placement = &equal;
  placed.placed = nullptr;
  return FindHierarchy(shape.ranks, rank, placed);
}

Planner::Planner(const Shape& shape, int rank, const Parameters& parameters)
    : shape_(shape), parameters_(parameters), inner_(parameters) {
  if (shape.root < 0 || shape.root >= shape.ranks || rank < 0 || rank >= shape.ranks) {
    throw std::invalid_argument("program: rank or root outside 0.." +
                                std::to_string(shape.ranks - 1));
  }
  if (parameters.lanes < 1 || parameters.pieces < 1) {
    throw std::invalid_argument("program: lanes and pieces must be at least 1");
  }
  parameters_.levels = WithDefaults(shape.collective, parameters);
  const std::string unfit = WhyUnfit(shape.collective, parameters_.levels, parameters_.protocol);
  if (!unfit.empty()) throw std::invalid_argument(NameOf(parameters_.levels) + ": " + unfit);
  hierarchy_ = FindPlace(shape, rank, parameters_);
  if (HasRoot(shape.collective)) root_ = FindPlace(shape, shape.root, parameters_);
  is_root_ = rank == shape.root;
  inner_.lanes = 1;
  inner_.in_place = true;
  inner_.levels = {};
  inner_.placement = nullptr;
  MakeCut();
}

const Algorithm& Planner::RowOf(Collective part, int level) const {
  return *FindPart(part, hierarchy_.levels[level].algorithm);
}

void Planner::MakeCut() {
  const bool blocks = HasBlocks(shape_.collective);
  cut_ = {.lanes = parameters_.lanes, .chunks = parameters_.pieces};
  int size = hierarchy_.slots;
  if (blocks) {
    cut_.grid = hierarchy_.grid;
  } else {
    const Shape top_shape = MakePhase(shape_.collective, top()).shape;
    const RankProgram inner = RowOf(shape_.collective, top()).build(top_shape, 0, inner_);
    size = top_units_ = CountUnits(inner, parameters_.pieces);
  }
  // From the top down to the node: what one unit of each level holds.
  unit_.assign(levels(), 1);
  for (int level = top(); level >= 0; --level) {
    unit_[level] = blocks ? size : (level == top() ? 1 : size);
    if (blocks || level != top()) size *= hierarchy_.levels[level].width;
  }
  offset_.assign(levels(), 0);
  share_.assign(levels(), 1);
  for (int level = 1; level < levels(); ++level) {
    const Level& below = hierarchy_.levels[level - 1];
    offset_[level] = offset_[level - 1] + below.index * unit_[level - 1];
    share_[level] = share_[level - 1] / (level == 1 ? hierarchy_.rails : below.width);
  }
  if (shape_.collective == kAllToAll) {
    for (int level = 0; level < levels(); ++level) {
      const PlannedPhase phase = MakePhase(kAllToAll, level);
      const RankProgram inner = phase.row->build(phase.shape, phase.index, inner_);
      if (inner.uses_scratch) cut_.scratch_copies = 2;  // one to stage, one for the inner program
    }
  }
  if (blocks) return;
  cut_.chunks *= size;
  if (hierarchy_.rails == hierarchy_.levels[0].width) return;
  for (int part = 0; part < size; ++part) {
    const bool there = part / unit_[0] < hierarchy_.rails;
    cut_.grid.push_back(there ? part : -1);
  }
}

Window Planner::At(Buffer buffer, int offset, int unit, int distance) const {
  const int pieces = parameters_.pieces;
  if (!HasBlocks(shape_.collective)) {
    const int parts = cut_.chunks / pieces;
    return {buffer, lane_ * cut_.chunks + offset, parts, unit, distance};
  }
  const int block = parameters_.lanes * pieces;
  return {buffer, lane_ * pieces + block * offset, 1, block * unit, block * distance};
}

Window Planner::OwnBlock(Buffer buffer) const {
  return {buffer, lane_ * parameters_.pieces, 1, 0, 1};
}

PlannedPhase Planner::MakePhase(Collective part, int level) const {
  const Level& at = hierarchy_.levels[level];
  PlannedPhase phase;
  phase.row = &RowOf(part, level);
  const int ranks = static_cast<int>(at.members.size());
  // A node that has no part in a rooted phase may have fewer ranks than the root's.
  const int root = HasRoot(part) ? std::min(root_.levels[level].index, ranks - 1) : 0;
  phase.shape = {.collective = part, .ranks = ranks, .root = root};
  phase.members = at.members;
  phase.index = at.index;
  phase.present = level == 0 || hierarchy_.on_rail();
  return phase;
}

PlannedPhase Planner::OnBuffers(PlannedPhase phase, int level, Buffer input, Buffer output) const {
  const int unit = unit_[level];
  phase.input = At(input, offset_[level], unit);
  phase.output = At(output, offset_[level], unit);
  phase.scratch = At(Buffer::kScratch, offset_[level], unit);
  phase.fine = unit;
  phase.fraction = share_[level];
  return phase;
}

// Reduce-scatter from the node up, all-reduce of what is left, all-gather back. Partial sums lie
// where the result will.
std::vector<PlannedPhase> Planner::PlanAllReduce() const {
  std::vector<PlannedPhase> phases;
  Buffer from = Buffer::kInput;
  for (int level = 0; level < top(); ++level) {
    phases.push_back(OnBuffers(MakePhase(kReduceScatter, level), level, from, Buffer::kOutput));
    from = Buffer::kOutput;
  }
  phases.push_back(OnBuffers(MakePhase(kAllReduce, top()), top(), from, Buffer::kOutput));
  phases.back().completes = true;
  for (int level = top() - 1; level >= 0; --level) {
    phases.push_back(
        OnBuffers(MakePhase(kAllGather, level), level, Buffer::kOutput, Buffer::kOutput));
  }
  return phases;
}

// Within a node, between a rail's holder and the extras that share the rail: their blocks, slot by
// slot.
PlannedPhase Planner::AmongSharers(Collective part) const {
  PlannedPhase phase;
  phase.row = FindAlgorithm(part, "naive_root");
  phase.members = hierarchy_.sharers;
  phase.shape = {.collective = part, .ranks = static_cast<int>(phase.members.size()), .root = 0};
  phase.index = hierarchy_.local / hierarchy_.rails;
  phase.fraction = static_cast<double>(phase.members.size()) / shape_.ranks;
  return phase;
}

std::vector<PlannedPhase> Planner::PlanReduceScatter() const {
  std::vector<PlannedPhase> phases;
  Buffer from = Buffer::kInput;
  for (int level = 0; level < levels(); ++level) {
    phases.push_back(OnBuffers(MakePhase(kReduceScatter, level), level, from, Buffer::kScratch));
    from = Buffer::kScratch;
  }
  phases.back().completes = true;
  if (hierarchy_.slots == 1) {
    phases.back().output = OwnBlock(Buffer::kOutput);
    return phases;
  }
  const int holder = hierarchy_.local % hierarchy_.rails - hierarchy_.local;
  const int mine = offset_[top()] + hierarchy_.levels[top()].index * unit_[top()];
  PlannedPhase hand_out = AmongSharers(kScatter);
  hand_out.input = At(Buffer::kScratch, mine + holder * unit_[0], 1);
  hand_out.output = OwnBlock(Buffer::kOutput);
  phases.push_back(std::move(hand_out));
  return phases;
}

std::vector<PlannedPhase> Planner::PlanAllGather() const {
  std::vector<PlannedPhase> phases;
  if (hierarchy_.slots > 1) {
    const int holder = hierarchy_.local % hierarchy_.rails - hierarchy_.local;
    const int mine = offset_[top()] + hierarchy_.levels[top()].index * unit_[top()];
    PlannedPhase hand_in = AmongSharers(kGather);
    hand_in.input = OwnBlock(Buffer::kInput);
    hand_in.output = At(Buffer::kOutput, mine + holder * unit_[0], 1);
    phases.push_back(std::move(hand_in));
  }
  for (int level = top(); level >= 0; --level) {
    phases.push_back(
        OnBuffers(MakePhase(kAllGather, level), level, Buffer::kOutput, Buffer::kOutput));
    if (level == top() && hierarchy_.slots == 1) phases.back().input = OwnBlock(Buffer::kInput);
  }
  return phases;
}

// To the rail of the target inside the node, then along the rail. What has gone the first way is
// staged in scratch by (source, node of the target).
std::vector<PlannedPhase> Planner::PlanAllToAll() const {
  const int nodes = hierarchy_.levels[1].width;
  const int ranks = hierarchy_.levels[0].width;
  const int copy = static_cast<int>(hierarchy_.grid.size());
  PlannedPhase inside = MakePhase(kAllToAll, 0);
  inside.input = At(Buffer::kInput, 0, nodes);
  inside.output = At(Buffer::kScratch, 0, nodes);
  inside.scratch = At(Buffer::kScratch, copy, nodes);
  inside.fine = nodes;
  PlannedPhase across = MakePhase(kAllToAll, 1);
  across.input = At(Buffer::kScratch, 0, 1, nodes);
  across.output = At(Buffer::kOutput, 0, 1, nodes);
  across.scratch = At(Buffer::kScratch, copy, 1, nodes);
  across.fine = ranks;
  return {inside, across};
}

// Whether this rank is where the root is on every level above `level`.
bool Planner::AboveRoot(int level) const {
  for (int above = level + 1; above < levels(); ++above) {
    if (hierarchy_.levels[above].index != root_.levels[above].index) return false;
  }
  return true;
}

// Scatter to the rails beside the root, broadcast on every rail, all-gather back.
std::vector<PlannedPhase> Planner::PlanBroadcast() const {
  std::vector<PlannedPhase> phases;
  Buffer from = Buffer::kInput;
  for (int level = 0; level < top(); ++level) {
    phases.push_back(OnBuffers(MakePhase(kScatter, level), level, from, Buffer::kOutput));
    phases.back().present = phases.back().present && AboveRoot(level);
    from = Buffer::kOutput;
  }
  phases.push_back(OnBuffers(MakePhase(kBroadcast, top()), top(), from, Buffer::kOutput));
  for (int level = top() - 1; level >= 0; --level) {
    phases.push_back(
        OnBuffers(MakePhase(kAllGather, level), level, Buffer::kOutput, Buffer::kOutput));
  }
  return phases;
}

// Reduce-scatter from the node up, reduce on every rail, gather at the root. Only the root has an
// output; the others keep what passes through in scratch.
std::vector<PlannedPhase> Planner::PlanReduce() const {
  const Buffer result = is_root_ ? Buffer::kOutput : Buffer::kScratch;
  std::vector<PlannedPhase> phases;
  Buffer from = Buffer::kInput;
  for (int level = 0; level < top(); ++level) {
    phases.push_back(OnBuffers(MakePhase(kReduceScatter, level), level, from, Buffer::kScratch));
    from = Buffer::kScratch;
  }
  phases.push_back(OnBuffers(MakePhase(kReduce, top()), top(), from, result));
  phases.back().completes = true;
  for (int level = top() - 1; level >= 0; --level) {
    // A peer shape writes to the root's output, whoever runs it.
    const Buffer target = level == 0 ? Buffer::kOutput : result;
    phases.push_back(OnBuffers(MakePhase(kGather, level), level, result, target));
    phases.back().present = phases.back().present && AboveRoot(level);
  }
  return phases;
}

std::vector<PlannedPhase> Planner::Plan(int lane) {
  lane_ = lane;
  switch (shape_.collective) {
    case kAllReduce:
      return PlanAllReduce();
    case kReduceScatter:
      return PlanReduceScatter();
    case kAllGather:
      return PlanAllGather();
    case kAllToAll:
      return PlanAllToAll();
    case kBroadcast:
      return PlanBroadcast();
    case kReduce:
      return PlanReduce();
    default:
      throw std::invalid_argument(std::string(Name(shape_.collective)) +
                                  " has no hierarchical form");
  }
}

}  // namespace

RankProgram Hierarchical(const Shape& shape, int rank, const Parameters& parameters) {
  Planner planner(shape, rank, parameters);
  RankProgram program;
  program.shape = shape;
  program.rank = rank;
  program.cut = planner.cut();
  for (int lane = 0; lane < parameters.lanes; ++lane) {
    std::vector<Phase> phases;
    for (const PlannedPhase& plan : planner.Plan(lane)) {
      const bool peers =
          plan.row->simple_uses_peer_memory && parameters.protocol == Protocol::kSimple;
      phases.push_back({.program = plan.row->build(plan.shape, plan.index, planner.inner()),
                        .group = plan.present ? plan.members : std::vector<std::int16_t>{},
                        .input = plan.input,
                        .output = plan.output,
                        .scratch = plan.scratch,
                        .fine = plan.fine,
                        .completes = plan.completes,
                        .peer_memory = peers});
    }
    AddPhases(program, phases, parameters.pieces);
  }
  return program;
}

double wire::Hierarchical(const Shape& shape, int rank, const Parameters& parameters) {
  Planner planner(shape, rank, parameters);
  double fraction = 0;
  for (const PlannedPhase& plan : planner.Plan(0)) {
    if (!plan.present) continue;
    fraction += plan.fraction * plan.row->wire_fraction(plan.shape, plan.index, planner.inner());
  }
  return fraction;
}

}  // namespace hockney
