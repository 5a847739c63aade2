#include "tests/collectives/mutations.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "collectives/interpreter.h"

namespace hockney {
namespace {

constexpr const char* kNames[] = {
    "delete",        "duplicate",       "swap with the next", "peer + 1",    "drop operand",
    "all to one",    "chunk start + 1", "chunk base + 1",     "delete wait", "add wait",
    "wait peer + 1", "wait one",        "delete post",        "add post",    "post peer + 1",
    "post one",      "drop final",      "reduce to copy"};

bool IsAll(const Operand& operand) {
  return operand.place == Place::kAllFifos || operand.place == Place::kAllPeers;
}

Operand& OperandAt(Step& step, int index) {
  return index < step.source_count ? step.source[index]
                                   : step.destination[index - step.source_count];
}

void ListOperands(const Step& step, const std::function<void(MutationKind, int)>& add) {
  Step copy = step;
  for (int i = 0; i < step.source_count + step.destination_count; ++i) {
    const Operand& operand = OperandAt(copy, i);
    if (operand.place == Place::kFifo || operand.place == Place::kPeer) {
      add(MutationKind::kOperandPeer, i);
    }
    if (IsAll(operand)) add(MutationKind::kOperandOne, i);
    const int beside = i < step.source_count ? step.source_count : step.destination_count;
    if (beside > 1) add(MutationKind::kDropOperand, i);
    if (!IsFifo(operand)) {
      add(MutationKind::kChunkStart, i);
      add(MutationKind::kChunkBase, i);
    }
  }
}

void ListEvents(const Step& step, const std::function<void(MutationKind, int)>& add) {
  for (int i = 0; i < step.wait_count; ++i) {
    const bool all = step.wait[i].kind == EventKind::kAllPeers;
    add(MutationKind::kDeleteWait, i);
    if (!all) add(MutationKind::kWaitPeer, i);
    if (all) add(MutationKind::kWaitOne, i);
  }
  for (int i = 0; i < step.post_count; ++i) {
    const bool all = step.post[i].kind == EventKind::kAllPeers;
    add(MutationKind::kDeletePost, i);
    if (!all) add(MutationKind::kPostPeer, i);
    if (all) add(MutationKind::kPostOne, i);
  }
  if (step.wait_count < kMaxEvents) add(MutationKind::kAddWait, 0);
  if (step.post_count < kMaxEvents) add(MutationKind::kAddPost, 0);
}

// Inserts (shift 1) or removes (shift -1) a step at `at`; loops keep their steps.
void ShiftLoops(Lane& lane, int at, int shift) {
  for (int l = 0; l < lane.loop_count; ++l) {
    Loop& loop = lane.loops[l];
    if (loop.begin > at) loop.begin = static_cast<std::int16_t>(loop.begin + shift);
    if (loop.end > at) loop.end = static_cast<std::int16_t>(loop.end + shift);
  }
  const auto end = std::remove_if(lane.loops, lane.loops + lane.loop_count,
                                  [](const Loop& loop) { return loop.begin == loop.end; });
  lane.loop_count = static_cast<std::int16_t>(end - lane.loops);
}

void DeleteStep(Lane& lane, int at) {
  std::copy(lane.steps + at + 1, lane.steps + lane.step_count, lane.steps + at);
  --lane.step_count;
  ShiftLoops(lane, at, -1);
}

void DuplicateStep(Lane& lane, int at) {
  std::copy_backward(lane.steps + at, lane.steps + lane.step_count,
                     lane.steps + lane.step_count + 1);
  ++lane.step_count;
  ShiftLoops(lane, at, 1);
}

void DropOperand(Step& step, int index) {
  const bool source = index < step.source_count;
  Operand* operands = source ? step.source : step.destination;
  std::uint8_t& count = source ? step.source_count : step.destination_count;
  const int at = source ? index : index - step.source_count;
  std::copy(operands + at + 1, operands + count, operands + at);
  --count;
}

void DeleteEvent(Event* events, std::uint8_t& count, int index) {
  std::copy(events + index + 1, events + count, events + index);
  --count;
}

// Within the lane's group.
PeerIndex NextRank(const RankProgram& program, int lane) {
  const RankGroup group = GroupOf(program, lane);
  int own = 0;
  while (group[own] != program.rank) ++own;
  PeerIndex next;
  next.start = static_cast<std::int16_t>((own + 1) % group.size);
  return next;
}

void MutateOperand(Step& step, const Mutation& mutation, PeerIndex next_rank) {
  Operand& operand = OperandAt(step, mutation.index);
  if (mutation.kind == MutationKind::kOperandPeer) ++operand.peer.start;
  if (mutation.kind == MutationKind::kChunkStart) ++operand.run.start;
  if (mutation.kind == MutationKind::kChunkBase) ++operand.run.base;
  if (mutation.kind == MutationKind::kDropOperand) DropOperand(step, mutation.index);
  if (mutation.kind == MutationKind::kOperandOne) {
    operand.place = operand.place == Place::kAllFifos ? Place::kFifo : Place::kPeer;
    operand.peer = next_rank;
  }
}

// One rank, or one lane, on; an all-form becomes the one for the next rank.
void MoveEvent(Event& event, const RankProgram& program, int lane) {
  if (event.kind == EventKind::kLane) {
    const int lanes = static_cast<int>(program.lanes.size());
    event.peer.start = static_cast<std::int16_t>((event.peer.start + 1) % lanes);
  } else if (event.kind == EventKind::kPeer) {
    ++event.peer.start;
  } else {
    event = {.kind = EventKind::kPeer, .peer = NextRank(program, lane)};
  }
}

void MutateEvent(Step& step, const Mutation& mutation, const RankProgram& program) {
  const int lane = mutation.lane;
  const Event added = {.kind = EventKind::kPeer, .peer = NextRank(program, lane)};
  const int at = mutation.index;
  if (mutation.kind == MutationKind::kDeleteWait) DeleteEvent(step.wait, step.wait_count, at);
  if (mutation.kind == MutationKind::kDeletePost) DeleteEvent(step.post, step.post_count, at);
  if (mutation.kind == MutationKind::kAddWait) step.wait[step.wait_count++] = added;
  if (mutation.kind == MutationKind::kAddPost) step.post[step.post_count++] = added;
  if (mutation.kind == MutationKind::kWaitPeer || mutation.kind == MutationKind::kWaitOne) {
    MoveEvent(step.wait[at], program, lane);
  }
  if (mutation.kind == MutationKind::kPostPeer || mutation.kind == MutationKind::kPostOne) {
    MoveEvent(step.post[at], program, lane);
  }
}

}  // namespace

std::vector<Mutation> ListMutations(const RankProgram& program) {
  std::vector<Mutation> mutations;
  for (int l = 0; l < static_cast<int>(program.lanes.size()); ++l) {
    const Lane& lane = program.lanes[l];
    for (int s = 0; s < lane.step_count; ++s) {
      const auto add = [&](MutationKind kind, int index) {
        mutations.push_back({kind, l, s, index});
      };
      const Step& step = lane.steps[s];
      add(MutationKind::kDelete, 0);
      add(MutationKind::kDuplicate, 0);
      if (s + 1 < lane.step_count) add(MutationKind::kSwap, 0);
      if (step.final) add(MutationKind::kDropFinal, 0);
      if (step.reduce) add(MutationKind::kReduceToCopy, 0);
      ListOperands(step, add);
      ListEvents(step, add);
    }
  }
  return mutations;
}

RankProgram Mutate(const RankProgram& program, const Mutation& mutation) {
  RankProgram mutant = program;
  Lane& lane = mutant.lanes[mutation.lane];
  Step& step = lane.steps[mutation.step];
  if (mutation.kind == MutationKind::kDelete) DeleteStep(lane, mutation.step);
  if (mutation.kind == MutationKind::kDuplicate) DuplicateStep(lane, mutation.step);
  if (mutation.kind == MutationKind::kSwap) std::swap(step, lane.steps[mutation.step + 1]);
  if (mutation.kind == MutationKind::kDropFinal) step.final = false;
  if (mutation.kind == MutationKind::kReduceToCopy) {
    step.reduce = step.final = false;
    step.source_count = 1;
  }
  MutateOperand(step, mutation, NextRank(program, mutation.lane));
  MutateEvent(step, mutation, program);
  return mutant;
}

std::string Describe(const Mutation& mutation) {
  static_assert(std::size(kNames) == static_cast<std::size_t>(MutationKind::kReduceToCopy) + 1);
  return std::string(kNames[static_cast<int>(mutation.kind)]) + ", lane " +
         std::to_string(mutation.lane) + " step " + std::to_string(mutation.step) + " index " +
         std::to_string(mutation.index);
}

}  // namespace hockney
