#include "tests/collectives/mutations.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>

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

PeerIndex NextRank(const RankProgram& program) {
  PeerIndex next;
  next.start = static_cast<std::int16_t>((program.rank + 1) % program.shape.ranks);
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
void MoveEvent(Event& event, const RankProgram& program) {
  if (event.kind == EventKind::kLane) {
    const int lanes = static_cast<int>(program.lanes.size());
    event.peer.start = static_cast<std::int16_t>((event.peer.start + 1) % lanes);
  } else if (event.kind == EventKind::kPeer) {
    ++event.peer.start;
  } else {
    event = {.kind = EventKind::kPeer, .peer = NextRank(program)};
  }
}

void MutateEvent(Step& step, const Mutation& mutation, const RankProgram& program) {
  const Event added = {.kind = EventKind::kPeer, .peer = NextRank(program)};
  const int at = mutation.index;
  if (mutation.kind == MutationKind::kDeleteWait) DeleteEvent(step.wait, step.wait_count, at);
  if (mutation.kind == MutationKind::kDeletePost) DeleteEvent(step.post, step.post_count, at);
  if (mutation.kind == MutationKind::kAddWait) step.wait[step.wait_count++] = added;
  if (mutation.kind == MutationKind::kAddPost) step.post[step.post_count++] = added;
  if (mutation.kind == MutationKind::kWaitPeer || mutation.kind == MutationKind::kWaitOne) {
    MoveEvent(step.wait[at], program);
  }
  if (mutation.kind == MutationKind::kPostPeer || mutation.kind == MutationKind::kPostOne) {
    MoveEvent(step.post[at], program);
  }
}

// All counters that the loops around step `at` give it.
std::vector<LoopCounters> CountersOf(const Lane& lane, int at) {
  std::vector<LoopCounters> all(1);
  for (int l = 0; l < lane.loop_count; ++l) {
    const Loop& loop = lane.loops[l];
    if (at < loop.begin || at >= loop.end) continue;
    const std::vector<LoopCounters> once = all;
    for (int i = 1; i < loop.count; ++i) {
      for (LoopCounters counters : once) {
        counters.i[loop.depth] = i;
        all.push_back(counters);
      }
    }
  }
  return all;
}

bool SameLoops(const Lane& lane, int first, int second) {
  return std::all_of(lane.loops, lane.loops + lane.loop_count, [&](const Loop& loop) {
    return (first >= loop.begin && first < loop.end) == (second >= loop.begin && second < loop.end);
  });
}

// What a step touches: (owner, buffer, chunk), aliases resolved; and its connections' other ends.
struct Footprint {
  std::set<std::tuple<int, Buffer, int>> read;
  std::set<std::tuple<int, Buffer, int>> written;
  std::set<int> received;
  std::set<int> sent;
};

std::tuple<int, Buffer, int> Resolve(const Memory& memory, int owner, Buffer buffer, int chunk) {
  if (!memory.in_place || buffer == Buffer::kScratch) return {owner, buffer, chunk};
  const Layout::InPlace alias = memory.layout->FindInPlace(owner);
  const Buffer inner = alias.input_inside_output ? Buffer::kInput : Buffer::kOutput;
  const Buffer outer = alias.input_inside_output ? Buffer::kOutput : Buffer::kInput;
  const bool has_both = memory.layout->ChunkCount(owner, Buffer::kInput) > 0 &&
                        memory.layout->ChunkCount(owner, Buffer::kOutput) > 0;
  if (!has_both || buffer != inner) return {owner, buffer, chunk};
  return {owner, outer, chunk + alias.chunk_offset};
}

Footprint FindFootprint(const RankProgram& program, const Step& step, const LoopCounters& at,
                        const Memory& memory) {
  Footprint print;
  const auto add = [&](const Operand& operand, auto& chunks, std::set<int>& peers) {
    const auto visit = [&](int peer) {
      if (IsFifo(operand)) peers.insert(peer);
      for (int j = 0; j < operand.run.count && !IsFifo(operand); ++j) {
        chunks.insert(Resolve(memory, peer, operand.buffer, FindChunk(operand.run, at, j)));
      }
      return true;
    };
    if (operand.place == Place::kSelf) {
      visit(program.rank);
    } else {
      ForEachPeer(operand, at, program.shape.ranks, visit);
    }
  };
  for (int s = 0; s < step.source_count; ++s) add(step.source[s], print.read, print.received);
  for (int d = 0; d < step.destination_count; ++d) {
    add(step.destination[d], print.written, print.sent);
  }
  return print;
}

template <class Set>
bool Meet(const Set& a, const Set& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& x) { return b.count(x) > 0; });
}

bool StaysHome(const Step& step) {
  const auto own = [](const Operand& operand) { return operand.place == Place::kSelf; };
  return !step.reduce && step.wait_count + step.post_count == 0 && step.source_count == 1 &&
         std::all_of(step.source, step.source + step.source_count, own) &&
         std::all_of(step.destination, step.destination + step.destination_count, own);
}

// Whether destination `d` of a copying step is the chunks it reads.
bool GoesOntoItself(const RankProgram& program, const Mutation& at_step, int d,
                    const Memory& memory) {
  const Lane& lane = program.lanes[at_step.lane];
  const Step& step = lane.steps[at_step.step];
  const Operand& from = step.source[0];
  const Operand& to = step.destination[d];
  if (step.reduce || from.place != Place::kSelf || to.place != Place::kSelf) return false;
  for (const LoopCounters& at : CountersOf(lane, at_step.step)) {
    for (int j = 0; j < from.run.count; ++j) {
      if (Resolve(memory, program.rank, from.buffer, FindChunk(from.run, at, j)) !=
          Resolve(memory, program.rank, to.buffer, FindChunk(to.run, at, j))) {
        return false;
      }
    }
  }
  return true;
}

bool DoesNothing(const RankProgram& program, const Mutation& at_step, const Memory& memory) {
  const Step& step = program.lanes[at_step.lane].steps[at_step.step];
  return StaysHome(step) && step.destination_count == 1 &&
         GoesOntoItself(program, at_step, 0, memory);
}

bool MaySwap(const RankProgram& program, const Mutation& swap, const Memory& memory) {
  const Lane& lane = program.lanes[swap.lane];
  const Step& first = lane.steps[swap.step];
  const Step& second = lane.steps[swap.step + 1];
  if (!SameLoops(lane, swap.step, swap.step + 1)) return false;
  if (first.wait_count > 0 && second.source_count + second.post_count > 0) return false;
  if (first.source_count > 0 && second.post_count > 0) return false;
  const std::vector<LoopCounters> counters = CountersOf(lane, swap.step);
  return std::all_of(counters.begin(), counters.end(), [&](const LoopCounters& at) {
    const Footprint a = FindFootprint(program, first, at, memory);
    const Footprint b = FindFootprint(program, second, at, memory);
    return !Meet(a.written, b.read) && !Meet(a.read, b.written) && !Meet(a.written, b.written) &&
           !Meet(a.received, b.received) && !Meet(a.sent, b.sent);
  });
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
  MutateOperand(step, mutation, NextRank(program));
  MutateEvent(step, mutation, program);
  return mutant;
}

std::string Describe(const Mutation& mutation) {
  static_assert(std::size(kNames) == static_cast<std::size_t>(MutationKind::kReduceToCopy) + 1);
  return std::string(kNames[static_cast<int>(mutation.kind)]) + ", lane " +
         std::to_string(mutation.lane) + " step " + std::to_string(mutation.step) + " index " +
         std::to_string(mutation.index);
}

std::string FindEquivalence(const RankProgram& program, const Mutation& mutation,
                            const Memory& memory) {
  const Step& step = program.lanes[mutation.lane].steps[mutation.step];
  if (mutation.kind == MutationKind::kSwap) {
    Mutation next = mutation;
    ++next.step;
    if (DoesNothing(program, mutation, memory) || DoesNothing(program, next, memory)) {
      return "swapped with a copy onto itself";
    }
    return MaySwap(program, mutation, memory) ? "independent steps swapped" : "";
  }
  if (mutation.kind == MutationKind::kDuplicate && StaysHome(step)) return "own copy done twice";
  if (mutation.kind == MutationKind::kDelete && DoesNothing(program, mutation, memory)) {
    return "copy onto itself left out";
  }
  const int destination = mutation.index - step.source_count;
  if (destination < 0) return "";
  const bool onto_itself = GoesOntoItself(program, mutation, destination, memory);
  if (mutation.kind == MutationKind::kDropOperand && onto_itself) {
    return "copy onto itself left out";
  }
  if (mutation.kind == MutationKind::kChunkStart && onto_itself) {
    return "copy onto itself to a block that is overwritten";
  }
  return "";
}

}  // namespace hockney
