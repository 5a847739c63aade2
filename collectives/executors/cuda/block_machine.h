#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/executors/connection_protocol.h"
#include "collectives/executors/cuda/block_call.h"
#include "collectives/executors/cuda/block_operands.h"
#include "collectives/interpreter.h"

namespace hockney {

// The Machine of a lane that a block of threads drives, on a GPU or, to be tested, on a CPU. Every
// thread runs the interpreter with its own equal LaneState; thread 0 alone touches counters. A
// wait: thread 0 acquires, a barrier tells all. A post: a barrier, then thread 0 releases. So the
// barriers carry to and from the other threads what the counters carry between ranks, and so do
// the lengths at the head of messages in packets. Team is the block:
//   using Access = ...;  as ConnectionProtocol has it
//   int thread();  int threads();
//   void Sync();  bool Any(bool);  where all threads meet; the latter tells whether any said true.
template <class Team, Element E, ReduceOp kOp>
class BlockMachine {
 public:
  HOCKNEY_HOST_DEVICE BlockMachine(const BlockCall& call, BlockOperands& operands, Team& team)
      : call_(call), operands_(operands), team_(team) {}

  HOCKNEY_HOST_DEVICE int rank() const { return call_.rank; }
  HOCKNEY_HOST_DEVICE RankGroup group(int lane) const { return call_.groups[lane]; }

  HOCKNEY_HOST_DEVICE bool TokenReady(int lane, TokenEnd source) {
    bool ready = false;
    if (IsFirst()) {
      if (source.kind == EventKind::kLane) {
        const BlockLaneTokens& tokens = LaneTokens(source.index, lane);
        ready = Access::Acquire(tokens.given) != tokens.taken;  // pairs with GiveToken
      } else {
        ready = Ends::TokenReady(At(lane, source.index));
      }
    }
    return team_.Any(ready);
  }
  HOCKNEY_HOST_DEVICE void TakeToken(int lane, TokenEnd source) {
    if (!IsFirst()) return;
    if (source.kind == EventKind::kLane) {
      ++LaneTokens(source.index, lane).taken;
    } else {
      Ends::TakeToken(At(lane, source.index));
    }
  }
  HOCKNEY_HOST_DEVICE void GiveToken(int lane, TokenEnd target) {
    team_.Sync();
    if (!IsFirst()) return;
    if (target.kind == EventKind::kLane) {
      BlockLaneTokens& tokens = LaneTokens(lane, target.index);
      Access::Release(tokens.given, Access::Load(tokens.given) + 1);
    } else {
      Ends::GiveToken(At(lane, target.index));
    }
  }

  HOCKNEY_HOST_DEVICE bool MessageReady(int lane, int peer, Buffer buffer) {
    if (UsesPackets(lane, peer, buffer)) return PacketsReady(At(lane, peer));
    return team_.Any(IsFirst() && Ends::MessageReady(At(lane, peer)));
  }
  HOCKNEY_HOST_DEVICE bool CreditReady(int lane, int peer, Buffer buffer) {
    return team_.Any(IsFirst() && Ends::CreditReady(At(lane, peer), UsesPackets(lane, peer, buffer),
                                                    static_cast<std::uint64_t>(call_.slots)));
  }
  HOCKNEY_HOST_DEVICE void Sent(int lane, int peer, Buffer buffer) {
    if (UsesPackets(lane, peer, buffer)) {
      if (IsFirst()) ++At(lane, peer).packets.sent;
      return;
    }
    team_.Sync();
    if (IsFirst()) Ends::Sent(At(lane, peer));
  }
  HOCKNEY_HOST_DEVICE void Consumed(int lane, int peer, Buffer buffer) {
    const bool packets = UsesPackets(lane, peer, buffer);
    if (packets) CleanPackets(At(lane, peer));
    team_.Sync();
    if (IsFirst()) Ends::Consumed(At(lane, peer), packets);
  }

  HOCKNEY_HOST_DEVICE void Move(int lane, const Step& step, const LoopCounters& at, int slice) {
    std::size_t offset = 0;  // of the chunk within messages
    for (int j = 0; j < step.source[0].run.count; ++j) {
      team_.Sync();  // the threads have done with the chunk before
      if (IsFirst()) Gather(step, at, {lane, j, slice, offset});
      team_.Sync();
      MoveElements(step.final);
      offset += operands_.bytes;
    }
    Announce(lane, step, at, offset);
  }

 private:
  using Storage = typename E::Storage;
  using Access = typename Team::Access;
  using Ends = ConnectionProtocol<Access>;

  // Chunk `j` of a step's runs and where it begins in messages.
  struct Piece {
    int lane;
    int j;
    int slice;
    std::size_t offset;
  };

  HOCKNEY_HOST_DEVICE bool IsFirst() const { return team_.thread() == 0; }
  HOCKNEY_HOST_DEVICE Connection& At(int lane, int peer) const {
    return call_.connections[lane * call_.ranks + peer];
  }
  HOCKNEY_HOST_DEVICE bool UsesPackets(int lane, int peer, Buffer buffer) const {
    return buffer == Buffer::kPackets && !At(lane, peer).by_proxy;
  }
  HOCKNEY_HOST_DEVICE BlockLaneTokens& LaneTokens(int from, int to) const {
    return call_.lane_tokens[from * call_.lanes + to];
  }
  HOCKNEY_HOST_DEVICE std::size_t SlotOf(std::uint64_t message) const {
    return static_cast<std::size_t>(message & static_cast<std::uint64_t>(call_.slots - 1));
  }

  // The sender's threads have written their words before its thread 0 releases the length, so one
  // acquire orders everything; threads check the flags of a word each all the same. Without that
  // order a word would be whole, but what its sender read before could be overwritten too early:
  // proofs take a message for an order in time.
  HOCKNEY_HOST_DEVICE bool PacketsReady(Connection& c) {
    if (IsFirst()) {
      operands_.packets = c.packet_inbox + SlotOf(c.packets.read) * call_.packet_words;
      operands_.flag = PacketFlag(c.packets.read);
      operands_.head = Access::Acquire(operands_.packets[0]);  // pairs with Pack
    }
    team_.Sync();
    bool missing = !HasFlag(operands_.head);
    const std::size_t words = missing ? 0 : ((operands_.head & kPacketDataMask) + 3) / 4;
    for (std::size_t i = team_.thread(); i < words; i += team_.threads()) {
      missing = missing || !HasFlag(Access::Load(operands_.packets[1 + i]));
    }
    return !team_.Any(missing);
  }
  HOCKNEY_HOST_DEVICE bool HasFlag(std::uint64_t packet) const {
    return (packet & ~kPacketDataMask) == operands_.flag;
  }

  HOCKNEY_HOST_DEVICE void CleanPackets(Connection& c) {
    team_.Sync();  // all have read the message
    if (IsFirst()) {
      operands_.packets = c.packet_inbox + SlotOf(c.packets.read) * call_.packet_words;
      operands_.flag =
          MustCleanPackets(c.packets.read, static_cast<std::uint64_t>(call_.slots)) ? 1 : 0;
    }
    team_.Sync();
    if (operands_.flag == 0) return;
    auto* const packets = const_cast<std::atomic<std::uint64_t>*>(operands_.packets);
    for (std::size_t i = team_.thread(); i < call_.packet_words; i += team_.threads()) {
      Access::Store(packets[i], std::uint64_t{0});
    }
  }

  HOCKNEY_HOST_DEVICE void Gather(const Step& step, const LoopCounters& at, const Piece& piece) {
    operands_.source_count = operands_.target_count = 0;
    operands_.bytes = BlockOperands::kUnknown;
    operands_.any_packets = operands_.stages = false;
    for (int s = 0; s < step.source_count; ++s) AddSources(step.source[s], at, piece);
    for (int d = 0; d < step.destination_count; ++d) AddTargets(step.destination[d], at, piece);
  }

  // A slice of a chunk in memory of `owner`; sets the length of this pass.
  HOCKNEY_HOST_DEVICE std::byte* Slice(int owner, const Operand& operand, const LoopCounters& at,
                                       const Piece& piece) {
    const BlockBuffers& buffers = call_.buffers[owner];
    std::byte* base = call_.scratch;
    const ByteRange* chunks = call_.scratch_chunks;
    if (operand.buffer == Buffer::kInput) {
      base = buffers.input;
      chunks = buffers.input_chunks;
    } else if (operand.buffer == Buffer::kOutput) {
      base = buffers.output;
      chunks = buffers.output_chunks;
    }
    const ByteRange range = chunks[FindChunk(operand.run, at, piece.j)];
    const std::size_t wanted = call_.slice_bytes * piece.slice;
    const std::size_t begin = wanted < range.bytes ? wanted : range.bytes;
    const std::size_t left = range.bytes - begin;
    operands_.bytes = left < call_.slice_bytes ? left : call_.slice_bytes;
    return base + range.offset + begin;
  }

  HOCKNEY_HOST_DEVICE void AddSources(const Operand& operand, const LoopCounters& at,
                                      const Piece& piece) {
    ForEachOwner(operand, at, piece.lane, [&](int peer) {
      BlockOperands::Source& source = operands_.sources[operands_.source_count++];
      source = {nullptr, nullptr, 0, operand.buffer == Buffer::kInput};
      if (!IsFifo(operand)) {
        source.data = Slice(peer, operand, at, piece);
        return true;
      }
      const Connection& c = At(piece.lane, peer);
      std::size_t message_bytes = 0;
      if (UsesPackets(piece.lane, peer, operand.buffer)) {
        const auto* const words = c.packet_inbox + SlotOf(c.packets.read) * call_.packet_words;
        message_bytes = Access::Load(words[0]) & kPacketDataMask;
        source.packets = words + 1;
        source.packet_offset = piece.offset;
        operands_.any_packets = true;
      } else {
        const std::size_t slot = SlotOf(c.slots.read);
        message_bytes = Ends::MessageBytes(c, slot);
        source.data = c.inbox + slot * call_.slot_bytes + piece.offset;
      }
      // Without a memory operand the message itself says how long the one chunk is.
      if (operands_.bytes == BlockOperands::kUnknown && operand.run.count == 1) {
        operands_.bytes = message_bytes;
      }
      return true;
    });
  }

  HOCKNEY_HOST_DEVICE void AddTargets(const Operand& operand, const LoopCounters& at,
                                      const Piece& piece) {
    ForEachOwner(operand, at, piece.lane, [&](int peer) {
      std::byte* target = nullptr;
      if (!IsFifo(operand)) {
        target = Slice(peer, operand, at, piece);
      } else if (UsesPackets(piece.lane, peer, operand.buffer)) {
        if (operands_.stages) return true;  // the same data for all
        operands_.stages = true;
        target = operands_.staged + piece.offset;
      } else {
        const Connection& c = At(piece.lane, peer);
        target = c.outbox + SlotOf(c.slots.sent) * call_.slot_bytes + piece.offset;
      }
      operands_.targets[operands_.target_count++] = target;
      return true;
    });
  }

  template <class Add>
  HOCKNEY_HOST_DEVICE void ForEachOwner(const Operand& operand, const LoopCounters& at, int lane,
                                        const Add& add) {
    if (operand.place == Place::kSelf) {
      add(rank());
    } else {
      ForEachPeer(operand, at, group(lane), add);
    }
  }

  // A target may be exactly a source: the thread that reads an element also writes it.
  HOCKNEY_HOST_DEVICE void MoveElements(bool divide) const {
    constexpr int kWide = kWideCount<Storage>;
    constexpr int kVectors = kWide > 8 ? 2 : 4;  // of 16 bytes that a thread moves at a time
    const std::size_t count = operands_.bytes / sizeof(Storage);
    const std::size_t wide = AreWide(operands_) ? count / kWide : 0;
    const std::size_t threads = team_.threads();
    std::size_t i = team_.thread();
    for (; i + (kVectors - 1) * threads < wide; i += kVectors * threads) {
      MoveSome<kWide, kVectors>({i * kWide, threads * kWide}, divide);
    }
    for (; i < wide; i += threads) MoveSome<kWide, 1>({i * kWide, 0}, divide);
    for (i = wide * kWide + team_.thread(); i < count; i += threads) MoveSome<1, 1>({i, 0}, divide);
  }
  template <int kCount, int kVectors>
  HOCKNEY_HOST_DEVICE void MoveSome(const VectorPlaces& places, bool divide) const {
    using Vector = ElementVector<Storage, kCount>;
    Vector results[kVectors];
    CombineElements<Access, E, kOp, kCount, kVectors>(operands_, places, call_.ranks, divide,
                                                      results);
    for (int d = 0; d < operands_.target_count; ++d) {
      for (int v = 0; v < kVectors; ++v) {
        *reinterpret_cast<Vector*>(operands_.targets[d] + (places.first + v * places.stride) *
                                                              sizeof(Storage)) = results[v];
      }
    }
  }

  // Puts the message of `bytes` where the receivers look: packets as a whole, the length of plain
  // messages, which Sent publishes.
  HOCKNEY_HOST_DEVICE void Announce(int lane, const Step& step, const LoopCounters& at,
                                    std::size_t bytes) {
    for (int d = 0; d < step.destination_count; ++d) {
      const Operand& target = step.destination[d];
      if (!IsFifo(target)) continue;
      ForEachPeer(target, at, group(lane), [&](int peer) {
        Connection& c = At(lane, peer);
        if (UsesPackets(lane, peer, target.buffer)) {
          Pack(c, bytes);
        } else if (IsFirst()) {
          Ends::SetMessageBytes(c, SlotOf(c.slots.sent), static_cast<std::uint32_t>(bytes));
        }
        return true;
      });
    }
  }

  // Threads write a word each, as it is in `staged`; bytes behind the message's end say nothing.
  HOCKNEY_HOST_DEVICE void Pack(Connection& c, std::size_t bytes) {
    team_.Sync();  // all of it is staged, and the message before has been packed
    if (IsFirst()) {
      operands_.packets = c.packet_outbox + SlotOf(c.packets.sent) * call_.packet_words;
      operands_.flag = PacketFlag(c.packets.sent);
    }
    team_.Sync();
    auto* const packets = const_cast<std::atomic<std::uint64_t>*>(operands_.packets);
    for (std::size_t i = team_.thread(); i < (bytes + 3) / 4; i += team_.threads()) {
      std::uint32_t word = 0;
      __builtin_memcpy(&word, operands_.staged + 4 * i, sizeof word);
      Access::Store(packets[1 + i], operands_.flag | word);
    }
    team_.Sync();  // all words are there, and thread 0 may look for another message
    if (IsFirst()) Access::Release(packets[0], operands_.flag | bytes);
  }

  const BlockCall& call_;
  BlockOperands& operands_;
  Team& team_;
};

// A lane of a call: its program may be a copy nearer by.
struct BlockLane {
  int index;
  const Lane& program;
};

// Runs the lane to its end, on every thread of its block. Waiting has Moved() and
// IsOver(call), which thread 0 asks when nothing moves: it holds the deadline and looks at the
// abort flag, here only, so that no block outlives a lost peer.
template <class Machine, class Team, class Waiting>
HOCKNEY_HOST_DEVICE void RunLane(const BlockCall& call, const BlockLane& lane, Machine& machine,
                                 Team& team, Waiting& waiting) {
  LaneState state;
  while (true) {
    const Progress progress = Advance(lane.program, lane.index, call.slices, state, machine);
    if (progress == Progress::kDone) return;
    if (progress == Progress::kMoved) {
      waiting.Moved();
      continue;
    }
    const bool first = team.thread() == 0;
    if (!team.Any(first && waiting.IsOver(call))) continue;
    if (first) call.reports[lane.index] = {.gave_up = 1, .step = state.step};
    return;
  }
}

}  // namespace hockney
