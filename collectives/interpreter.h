#pragma once

#include <cstdint>

#include "collectives/host_device.h"
#include "collectives/program.h"

// The one interpreter of programs. It knows the order of things inside a lane and nothing of data:
// a Machine supplies tokens, messages and the move of a slice. The verifier (symbols), the
// reference (bytes, one thread), the host executor and device kernels are Machines. A Machine has
//   int rank();  RankGroup group(lane);
//   bool TokenReady(lane, source);  void TakeToken(lane, source);  void GiveToken(lane, target);
//   bool MessageReady(lane, peer, buffer);  bool CreditReady(lane, peer, buffer);
//   void Move(lane, step, counters, slice);
//   void Consumed(lane, peer, buffer);  void Sent(lane, peer, buffer);
// where a token's source or target is a TokenEnd and ranks are those of the job. No call blocks.
namespace hockney {

// The ranks that a lane runs among; without members, ranks 0 .. size - 1.
struct RankGroup {
  const std::int16_t* members = nullptr;
  int size = 1;
  HOCKNEY_HOST_DEVICE constexpr int operator[](int i) const {
    return members == nullptr ? i : members[i];
  }
};

// The group of a lane. The program outlives it.
inline RankGroup GroupOf(const RankProgram& program, int lane) {
  const int group = program.lanes[lane].group;
  if (group < 0) return {nullptr, program.shape.ranks};
  const std::vector<std::int16_t>& members = program.groups[group];
  return {members.data(), static_cast<int>(members.size())};
}

struct TokenEnd {
  EventKind kind = EventKind::kPeer;  // kPeer or kLane
  int index = 0;                      // rank or lane
};

struct LaneState {
  std::int16_t step = 0;
  bool waited = false;  // the waits of this step are taken
  std::int32_t slice = 0;
  LoopCounters counters{};
};

enum class Progress : std::uint8_t { kMoved, kBlocked, kDone };

HOCKNEY_HOST_DEVICE constexpr int Mod(int value, int modulus) {
  const int rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

HOCKNEY_HOST_DEVICE constexpr int FindPeer(const PeerIndex& peer, const LoopCounters& at,
                                           const RankGroup& group) {
  return group[Mod(peer.start + peer.inner * at.i[1] + peer.inner2 * at.i[2], group.size)];
}

// Chunk `j` of a run, as ChunkRun defines it.
HOCKNEY_HOST_DEVICE constexpr int FindChunk(const ChunkRun& run, const LoopCounters& at, int j) {
  int within = run.start + run.inner * at.i[1] + run.inner2 * at.i[2];
  int chunk = run.base + run.outer * at.i[0];
  if (run.fine > 1) {
    chunk += run.fine_stride * (j % run.fine);
    j /= run.fine;
  }
  if (j > 0) within += (j / run.block) * run.stride + j % run.block;
  if (run.modulus > 0) within = Mod(within, run.modulus);
  return chunk + run.scale * within;
}

HOCKNEY_HOST_DEVICE constexpr bool IsFifo(const Operand& operand) {
  return operand.place == Place::kFifo || operand.place == Place::kAllFifos;
}

// Calls visit(rank) for the peers an operand names, in the group's order, until one returns false;
// returns whether none did.
template <class Visit>
HOCKNEY_HOST_DEVICE bool ForEachPeer(const Operand& operand, const LoopCounters& at,
                                     const RankGroup& group, Visit visit) {
  if (operand.place == Place::kAllFifos || operand.place == Place::kAllPeers) {
    for (int i = 0; i < group.size; ++i) {
      if (!visit(group[i])) return false;
    }
    return true;
  }
  return visit(FindPeer(operand.peer, at, group));
}

template <class Machine, class Visit>
HOCKNEY_HOST_DEVICE bool ForEachToken(const Event& event, int lane, const LoopCounters& at,
                                      Machine& machine, Visit visit) {
  switch (event.kind) {
    case EventKind::kLane:
      return visit(TokenEnd{EventKind::kLane, event.peer.start});
    case EventKind::kPeer:
      return visit(TokenEnd{EventKind::kPeer, FindPeer(event.peer, at, machine.group(lane))});
    case EventKind::kAllPeers:
      const RankGroup group = machine.group(lane);
      for (int i = 0; i < group.size; ++i) {
        const int peer = group[i];
        if (peer != machine.rank() && !visit(TokenEnd{EventKind::kPeer, peer})) return false;
      }
  }
  return true;
}

template <class Machine>
HOCKNEY_HOST_DEVICE bool TakeWaits(const Step& step, int lane, LaneState& state, Machine& machine) {
  for (int i = 0; i < step.wait_count; ++i) {
    if (!ForEachToken(step.wait[i], lane, state.counters, machine,
                      [&](TokenEnd end) { return machine.TokenReady(lane, end); })) {
      return false;
    }
  }
  for (int i = 0; i < step.wait_count; ++i) {
    ForEachToken(step.wait[i], lane, state.counters, machine, [&](TokenEnd end) {
      machine.TakeToken(lane, end);
      return true;
    });
  }
  return true;
}

template <class Machine>
HOCKNEY_HOST_DEVICE bool FifosReady(const Step& step, int lane, const LaneState& state,
                                    Machine& machine) {
  for (int i = 0; i < step.source_count; ++i) {
    const Operand& source = step.source[i];
    if (IsFifo(source) && !ForEachPeer(source, state.counters, machine.group(lane), [&](int peer) {
          return machine.MessageReady(lane, peer, source.buffer);
        })) {
      return false;
    }
  }
  for (int i = 0; i < step.destination_count; ++i) {
    const Operand& target = step.destination[i];
    if (IsFifo(target) && !ForEachPeer(target, state.counters, machine.group(lane), [&](int peer) {
          return machine.CreditReady(lane, peer, target.buffer);
        })) {
      return false;
    }
  }
  return true;
}

template <class Machine>
HOCKNEY_HOST_DEVICE void FinishSlice(const Step& step, int lane, const LaneState& state,
                                     Machine& machine) {
  for (int i = 0; i < step.destination_count; ++i) {
    const Operand& target = step.destination[i];
    if (IsFifo(target)) {
      ForEachPeer(target, state.counters, machine.group(lane), [&](int peer) {
        machine.Sent(lane, peer, target.buffer);
        return true;
      });
    }
  }
  for (int i = 0; i < step.source_count; ++i) {
    const Operand& source = step.source[i];
    if (IsFifo(source)) {
      ForEachPeer(source, state.counters, machine.group(lane), [&](int peer) {
        machine.Consumed(lane, peer, source.buffer);
        return true;
      });
    }
  }
}

// Moves to the next step, round the innermost loop that ends here and has repetitions left.
HOCKNEY_HOST_DEVICE inline void NextStep(const Lane& lane, LaneState& state) {
  const int next = state.step + 1;
  state.waited = false;
  state.slice = 0;
  for (int l = 0; l < lane.loop_count; ++l) {
    const Loop& loop = lane.loops[l];
    if (loop.end != next) continue;
    if (++state.counters.i[loop.depth] < loop.count) {
      state.step = loop.begin;
      return;
    }
    state.counters.i[loop.depth] = 0;
  }
  state.step = static_cast<std::int16_t>(next);
}

// Does at most one slice of the lane's current step. `slices` is the number of slices of every
// chunk of the call.
template <class Machine>
HOCKNEY_HOST_DEVICE Progress Advance(const Lane& lane, int lane_index, int slices, LaneState& state,
                                     Machine& machine) {
  if (state.step >= lane.step_count) return Progress::kDone;
  const Step& step = lane.steps[state.step];
  if (!state.waited) {
    if (!TakeWaits(step, lane_index, state, machine)) return Progress::kBlocked;
    state.waited = true;
  }
  if (step.destination_count > 0 || step.source_count > 0) {
    if (!FifosReady(step, lane_index, state, machine)) return Progress::kBlocked;
    machine.Move(lane_index, step, state.counters, state.slice);
    FinishSlice(step, lane_index, state, machine);
    if (++state.slice < slices) return Progress::kMoved;
  }
  for (int i = 0; i < step.post_count; ++i) {
    ForEachToken(step.post[i], lane_index, state.counters, machine, [&](TokenEnd end) {
      machine.GiveToken(lane_index, end);
      return true;
    });
  }
  NextStep(lane, state);
  return Progress::kMoved;
}

}  // namespace hockney
