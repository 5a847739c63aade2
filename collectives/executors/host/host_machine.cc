#include "collectives/executors/host/host_machine.h"

#include <algorithm>
#include <cstring>

namespace hockney {
// Takes what has come of the next message into `unpacked`; true when all of it is there. The sender
// stores the length last and with release, so one acquire orders everything; the flag of each word
// is checked all the same.
bool HostMachine::Unpack(int lane, int peer, Connection& c) {
  const std::uint64_t flag = PacketFlag(c.packets.read);
  const std::atomic<std::uint64_t>* words =
      c.packet_inbox + SlotOf(c, c.packets.read) * domain_.PacketWords();
  const std::uint64_t head = words[0].load(std::memory_order_acquire);
  if ((head & ~kPacketDataMask) != flag) return false;
  const std::size_t bytes = head & kPacketDataMask;
  std::size_t& done = call_.unpacked_bytes[static_cast<std::size_t>(lane) * ranks() + peer];
  if (done == bytes) return true;
  std::byte* data = UnpackedAt(lane, peer);
  for (std::size_t i = 0; i < bytes; i += 4) {
    const std::uint64_t word = words[1 + i / 4].load(std::memory_order_relaxed);
    if ((word & ~kPacketDataMask) != flag) return false;
    const auto value = static_cast<std::uint32_t>(word);
    std::memcpy(data + i, &value, std::min<std::size_t>(4, bytes - i));
  }
  done = bytes;
  return true;
}

void HostMachine::Pack(Connection& c, const std::byte* data, std::size_t bytes) {
  const std::uint64_t flag = PacketFlag(c.packets.sent);
  std::atomic<std::uint64_t>* words =
      c.packet_outbox + SlotOf(c, c.packets.sent) * domain_.PacketWords();
  const std::size_t whole = bytes / 4 * 4;
  for (std::size_t i = 0; i < whole; i += 4) {
    std::uint32_t value = 0;
    std::memcpy(&value, data + i, 4);
    words[1 + i / 4].store(flag | value, std::memory_order_relaxed);
  }
  if (whole < bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, data + whole, bytes - whole);
    words[1 + whole / 4].store(flag | value, std::memory_order_relaxed);
  }
  words[0].store(flag | bytes, std::memory_order_release);
}

std::byte* HostMachine::Slice(int owner, Buffer buffer, int chunk, int slice,
                              std::size_t& bytes) const {
  const ByteRange range = call_.layout->Find(owner, buffer, chunk);
  const std::size_t begin = std::min(range.bytes, call_.slice_bytes * slice);
  bytes = std::min(range.bytes - begin, call_.slice_bytes);
  std::byte* base = call_.scratch;
  if (buffer == Buffer::kInput) base = call_.inputs[owner];
  if (buffer == Buffer::kOutput) base = call_.outputs[owner];
  return base + range.offset + begin;
}

// Connections only: memory operands are added by Move, which knows chunk and slice.
void HostMachine::AddSource(int lane, int peer, const Operand& source, std::size_t offset,
                            Gathered& gathered) {
  Connection& c = domain_.At(lane, peer);
  const std::byte* data = nullptr;
  std::size_t message_bytes = 0;
  if (UsesPackets(c, source.buffer)) {
    data = UnpackedAt(lane, peer);
    message_bytes = call_.unpacked_bytes[static_cast<std::size_t>(lane) * ranks() + peer];
  } else {
    const std::size_t slot = SlotOf(c, c.slots.read);
    data = c.inbox + slot * domain_.options().limits.slot_bytes;
    message_bytes =
        c.remote != nullptr ? c.remote->MessageBytes(c.slots.read) : Ends::MessageBytes(c, slot);
  }
  // Without a memory operand the message itself says how long the one chunk is.
  if (gathered.bytes == kUnknown && source.run.count == 1) gathered.bytes = message_bytes;
  call_.sources.push_back(data + offset);
  call_.scaled.push_back(0);
}

void HostMachine::AddTarget(int lane, int peer, const Operand& target, std::size_t offset,
                            Gathered& gathered) {
  const Connection& c = domain_.At(lane, peer);
  gathered.to_slots = true;
  if (UsesPackets(c, target.buffer)) {
    if (!gathered.to_packets) call_.targets.push_back(call_.staged.data() + offset);
    gathered.to_packets = true;
    return;
  }
  call_.targets.push_back(c.outbox + SlotOf(c, c.slots.sent) * domain_.options().limits.slot_bytes +
                          offset);
}

void HostMachine::RunKernel(const Gathered& gathered, bool divide) {
  if (gathered.bytes == 0) return;
  KernelArgs args;
  args.sources = call_.sources.data();
  args.scaled = call_.scales ? call_.scaled.data() : nullptr;
  args.destinations = call_.targets.data();
  args.source_count = call_.sources.size();
  args.destination_count = call_.targets.size();
  args.count = gathered.bytes / call_.element_bytes;
  args.ranks = ranks();
  args.divide = divide;
  (gathered.to_slots ? call_.slot_kernel : call_.memory_kernel)(args);
}

// Puts the message of `bytes` where the receivers look: packets as a whole, the length of plain
// messages.
void HostMachine::Announce(int lane, const Step& step, const LoopCounters& at, std::size_t bytes) {
  for (int d = 0; d < step.destination_count; ++d) {
    const Operand& target = step.destination[d];
    if (!IsFifo(target)) continue;
    ForEachPeer(target, at, group(lane), [&](int peer) {
      Connection& c = domain_.At(lane, peer);
      if (c.remote != nullptr) {
        c.remote->SetMessageBytes(c.slots.sent, bytes);
      } else if (target.buffer == Buffer::kPackets) {
        Pack(c, call_.staged.data(), bytes);
      } else {
        Ends::SetMessageBytes(c, SlotOf(c, c.slots.sent), static_cast<std::uint32_t>(bytes));
      }
      return true;
    });
  }
}

void HostMachine::Move(int lane, const Step& step, const LoopCounters& at, int slice) {
  std::size_t offset = 0;  // of the chunk within messages
  for (int j = 0; j < step.source[0].run.count; ++j) {
    Gathered gathered;
    call_.sources.clear();
    call_.scaled.clear();
    call_.targets.clear();
    for (int s = 0; s < step.source_count; ++s) {
      const Operand& source = step.source[s];
      const auto add = [&](int peer) {
        if (IsFifo(source)) {
          AddSource(lane, peer, source, offset, gathered);
        } else {
          const int chunk = FindChunk(source.run, at, j);
          call_.sources.push_back(Slice(peer, source.buffer, chunk, slice, gathered.bytes));
          call_.scaled.push_back(source.buffer == Buffer::kInput ? 1 : 0);
        }
        return true;
      };
      if (source.place == Place::kSelf) {
        add(rank());
      } else {
        ForEachPeer(source, at, group(lane), add);
      }
    }
    for (int d = 0; d < step.destination_count; ++d) {
      const Operand& target = step.destination[d];
      const auto add = [&](int peer) {
        if (IsFifo(target)) {
          AddTarget(lane, peer, target, offset, gathered);
        } else {
          const int chunk = FindChunk(target.run, at, j);
          call_.targets.push_back(Slice(peer, target.buffer, chunk, slice, gathered.bytes));
          gathered.to_slots = gathered.to_slots || target.buffer == Buffer::kScratch;
        }
        return true;
      };
      if (target.place == Place::kSelf) {
        add(rank());
      } else {
        ForEachPeer(target, at, group(lane), add);
      }
    }
    RunKernel(gathered, step.final);
    offset += gathered.bytes;
  }
  Announce(lane, step, at, offset);
}

void HostMachine::Sent(int lane, int peer, Buffer buffer) {
  Connection& c = domain_.At(lane, peer);
  if (c.remote != nullptr) return c.remote->Sent();
  if (buffer == Buffer::kPackets) {
    ++c.packets.sent;
    return;
  }
  Ends::Sent(c);
}

void HostMachine::Consumed(int lane, int peer, Buffer buffer) {
  Connection& c = domain_.At(lane, peer);
  if (c.remote != nullptr) return c.remote->Consumed();
  if (buffer != Buffer::kPackets) return Ends::Consumed(c, false);
  if (MustCleanPackets(c.packets.read, domain_.options().limits.slots)) {
    std::atomic<std::uint64_t>* words =
        c.packet_inbox + SlotOf(c, c.packets.read) * domain_.PacketWords();
    for (std::size_t i = 0; i < domain_.PacketWords(); ++i) {
      words[i].store(0, std::memory_order_relaxed);
    }
  }
  call_.unpacked_bytes[static_cast<std::size_t>(lane) * ranks() + peer] = kUnknown;
  Ends::Consumed(c, true);
}

}  // namespace hockney
