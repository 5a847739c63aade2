#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/interpreter.h"
#include "tests/collectives/mutations.h"

// Mutations that change nothing (FindEquivalence in mutations.h).
namespace hockney {
namespace {

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

Footprint FindFootprint(const RankProgram& program, const Mutation& at_step, const LoopCounters& at,
                        const Memory& memory) {
  const Step& step = program.lanes[at_step.lane].steps[at_step.step];
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
      ForEachPeer(operand, at, GroupOf(program, at_step.lane), visit);
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

// Whether destination `d` of a copying step is the chunks it reads, at this rank or (`all`) at
// every rank, this one included.
bool GoesOntoItself(const RankProgram& program, const Mutation& at_step, int d,
                    const Memory& memory, bool all = false) {
  const Lane& lane = program.lanes[at_step.lane];
  const Step& step = lane.steps[at_step.step];
  const Operand& from = step.source[0];
  const Operand& to = step.destination[d];
  const Place wanted = all ? Place::kAllPeers : Place::kSelf;
  if (step.reduce || from.place != Place::kSelf || to.place != wanted) return false;
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
  Mutation next = swap;
  ++next.step;
  const std::vector<LoopCounters> counters = CountersOf(lane, swap.step);
  return std::all_of(counters.begin(), counters.end(), [&](const LoopCounters& at) {
    const Footprint a = FindFootprint(program, swap, at, memory);
    const Footprint b = FindFootprint(program, next, at, memory);
    return !Meet(a.written, b.read) && !Meet(a.read, b.written) && !Meet(a.written, b.written) &&
           !Meet(a.received, b.received) && !Meet(a.sent, b.sent);
  });
}

// Whether the step only sends, and no later lane of this rank writes what it reads: then it makes
// no difference if the phase that comes after is told before.
bool MayComeAfterItsPost(const RankProgram& program, const Mutation& swap, const Memory& memory) {
  const Lane& lane = program.lanes[swap.lane];
  const Step& post = lane.steps[swap.step + 1];
  if (!SameLoops(lane, swap.step, swap.step + 1) || post.source_count > 0 || post.wait_count > 0) {
    return false;
  }
  const auto of_lane = [](const Event& e) { return e.kind == EventKind::kLane; };
  if (!std::all_of(post.post, post.post + post.post_count, of_lane)) return false;
  std::set<std::tuple<int, Buffer, int>> read;
  for (const LoopCounters& at : CountersOf(lane, swap.step)) {
    const Footprint print = FindFootprint(program, swap, at, memory);
    if (!print.written.empty()) return false;
    read.insert(print.read.begin(), print.read.end());
  }
  for (int l = swap.lane + 1; l < static_cast<int>(program.lanes.size()); ++l) {
    for (int s = 0; s < program.lanes[l].step_count; ++s) {
      const Mutation later{.kind = swap.kind, .lane = l, .step = s, .index = 0};
      for (const LoopCounters& at : CountersOf(program.lanes[l], s)) {
        if (Meet(FindFootprint(program, later, at, memory).written, read)) return false;
      }
    }
  }
  return true;
}

// Whether a data step changes places with a token between the phases of a root that scatters or
// gathers by messages. The phases touch other parts of the vector, or the same part once it has
// gone to another rank and come back as a message.
bool IsOrderedByMessages(const RankProgram& program, const Mutation& swap) {
  const Lane& lane = program.lanes[swap.lane];
  if (lane.group < 0 || program.rank != program.shape.root || !HasRoot(program.shape.collective) ||
      !SameLoops(lane, swap.step, swap.step + 1)) {
    return false;
  }
  const auto only_tokens = [](const Step& step) { return step.source_count == 0; };
  const Step& first = lane.steps[swap.step];
  const Step& second = lane.steps[swap.step + 1];
  if (only_tokens(first) == only_tokens(second)) return false;
  const Step& tokens = only_tokens(first) ? first : second;
  const auto of_lane = [](const Event& e) { return e.kind == EventKind::kLane; };
  return std::all_of(tokens.wait, tokens.wait + tokens.wait_count, of_lane) &&
         std::all_of(tokens.post, tokens.post + tokens.post_count, of_lane);
}

}  // namespace

std::string FindEquivalence(const RankProgram& program, const Mutation& mutation,
                            const Memory& memory) {
  const Step& step = program.lanes[mutation.lane].steps[mutation.step];
  if (mutation.kind == MutationKind::kSwap) {
    Mutation next = mutation;
    ++next.step;
    if (DoesNothing(program, mutation, memory) || DoesNothing(program, next, memory)) {
      return "swapped with a copy onto itself";
    }
    if (MaySwap(program, mutation, memory)) return "independent steps swapped";
    if (MayComeAfterItsPost(program, mutation, memory)) return "send after a post that allows it";
    return IsOrderedByMessages(program, mutation) ? "root's phases in an order messages give" : "";
  }
  if (mutation.kind == MutationKind::kWaitOne || mutation.kind == MutationKind::kPostOne) {
    return GroupOf(program, mutation.lane).size == 2 ? "all others are one" : "";
  }
  if (mutation.kind == MutationKind::kDuplicate && StaysHome(step)) return "own copy done twice";
  if (mutation.kind == MutationKind::kDelete && DoesNothing(program, mutation, memory)) {
    return "copy onto itself left out";
  }
  const int destination = mutation.index - step.source_count;
  if (destination < 0) return "";
  if (mutation.kind == MutationKind::kOperandOne) {
    const bool pair = GroupOf(program, mutation.lane).size == 2;
    const bool same = pair && GoesOntoItself(program, mutation, destination, memory, true);
    return same ? "copy onto itself left out" : "";
  }
  if (mutation.kind == MutationKind::kDropOperand && memory.in_place &&
      program.shape.collective == Collective::kBroadcast && program.rank == program.shape.root &&
      IsFifo(step.source[0]) && step.destination[destination].place == Place::kSelf) {
    return "what the root has already";
  }
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
