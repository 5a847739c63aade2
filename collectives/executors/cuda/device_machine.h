#pragma once

// For nvcc only. Compiled, never run: no GPU has seen this code.

#include <cstddef>
#include <cstdint>
#include <cuda/atomic>
#include <type_traits>

#include "collectives/interpreter.h"
#include "collectives/kernels/scalar.h"
#include "collectives/layout.h"

namespace hockney {

inline constexpr int kMaxDeviceRanks = 32;  // one peer-memory domain
inline constexpr int kDeviceSlots = 8;      // of every connection; a power of two

// A counter that one rank writes and one rank polls, on a line of its own, and the lengths of the
// messages it announces.
struct alignas(128) DeviceCounter {
  std::uint64_t value = 0;
  std::uint32_t message_bytes[kDeviceSlots]{};
};

// Both directions of the messages between this rank and a peer on a lane. `here` is in memory of
// this rank and polled by it, `there` in the peer's. The counts run on over all calls.
struct DeviceFifo {
  DeviceCounter* messages_here = nullptr;
  DeviceCounter* messages_there = nullptr;
  DeviceCounter* credits_here = nullptr;
  DeviceCounter* credits_there = nullptr;
  std::byte* inbox = nullptr;   // kDeviceSlots slots in this rank's memory
  std::byte* outbox = nullptr;  // and in the peer's
  std::uint64_t sent = 0;
  std::uint64_t read = 0;
};

struct DeviceConnection {
  DeviceFifo slots;
  DeviceFifo packets;  // carried as plain messages too: right, without the speed of packets
  DeviceCounter* tokens_here = nullptr;
  DeviceCounter* tokens_there = nullptr;
  std::uint64_t tokens_given = 0;
  std::uint64_t tokens_taken = 0;
};

// A rank's buffers as this rank reaches them, and where their chunks lie (Layout::Find).
struct DeviceBuffers {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  const ByteRange* input_chunks = nullptr;
  const ByteRange* output_chunks = nullptr;
};

// Tokens from one lane of this rank to another.
struct DeviceLaneTokens {
  std::uint64_t given = 0;
  std::uint64_t taken = 0;
};

// Where a lane gave up, for the host to say.
struct DeviceReport {
  std::int32_t gave_up = 0;
  std::int32_t step = 0;
};

// All that a kernel gets; arrays are in memory it can reach. Buffers, chunks and slices lie on
// multiples of the element.
struct DeviceCall {
  int rank = 0;
  int ranks = 1;
  int lanes = 1;
  int slices = 1;
  std::size_t slice_bytes = 0;
  std::size_t slot_bytes = 0;
  const Lane* programs = nullptr;          // [lane]
  const RankGroup* groups = nullptr;       // [lane], members in memory of the device
  const DeviceBuffers* buffers = nullptr;  // [rank]
  std::byte* scratch = nullptr;
  const ByteRange* scratch_chunks = nullptr;
  DeviceConnection* connections = nullptr;  // [lane * ranks + peer]
  DeviceLaneTokens* lane_tokens = nullptr;  // [from * lanes + to]
  std::uint32_t* abort = nullptr;           // not 0: give up; host memory mapped to the device
  std::uint64_t timeout_ns = 0;             // for any wait
  DeviceReport* reports = nullptr;          // [lane]
};
static_assert(std::is_trivially_copyable_v<DeviceCall> &&
              std::is_trivially_copyable_v<DeviceConnection> &&
              std::is_trivially_copyable_v<DeviceBuffers>);

// The sources and destinations of one chunk of a step, in shared memory.
struct DeviceOperands {
  static constexpr int kMost = kMaxOperands * kMaxDeviceRanks;
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  const std::byte* sources[kMost];
  bool is_input[kMost];
  std::byte* targets[kMost];
  int source_count;
  int target_count;
  std::size_t bytes;
};

// One element of a pass over all sources, as KernelArgs states it.
template <Element E, ReduceOp kOp>
__device__ typename E::Storage CombineElement(const DeviceOperands& operands, std::size_t element,
                                              int ranks, bool divide) {
  using Storage = typename E::Storage;
  using A = typename E::Accumulator;
  constexpr bool kScales = kOp == ReduceOp::kAvg && std::is_floating_point_v<A>;
  constexpr bool kDivides = kOp == ReduceOp::kAvg && std::is_integral_v<A>;
  A sum{};
  for (int s = 0; s < operands.source_count; ++s) {
    const Storage stored = reinterpret_cast<const Storage*>(operands.sources[s])[element];
    const bool scales = kScales && ranks > 1 && operands.is_input[s];
    if (operands.source_count == 1 && !scales && !(kDivides && divide)) return stored;
    A value = E::Decode(stored);
    if constexpr (kScales) {
      if (scales) value = value * AverageScale<A>(ranks);
    }
    sum = s == 0 ? value : Combine<kOp>(sum, value);
  }
  if constexpr (kDivides) {
    if (divide) sum = Divide(sum, ranks);
  }
  return E::Encode(sum);
}

// The Machine of a lane that one thread block drives. Every thread runs the interpreter with its
// own equal LaneState; thread 0 alone touches counters. A wait: thread 0 acquires, a barrier tells
// all. A post: a barrier, then thread 0 releases. So the barriers carry to and from the other
// threads what the counters carry between GPUs.
template <Element E, ReduceOp kOp>
class DeviceMachine {
 public:
  __device__ DeviceMachine(const DeviceCall& call, DeviceOperands& operands)
      : call_(call), operands_(operands) {}

  __device__ int rank() const { return call_.rank; }
  __device__ RankGroup group(int lane) const { return call_.groups[lane]; }

  __device__ bool TokenReady(int lane, TokenEnd source) {
    bool ready = false;
    if (IsFirst()) {
      if (source.kind == EventKind::kLane) {
        DeviceLaneTokens& tokens = LaneTokens(source.index, lane);
        ready = Acquire(tokens.given) != tokens.taken;  // pairs with GiveToken
      } else {
        const DeviceConnection& c = At(lane, source.index);
        ready = Acquire(c.tokens_here->value) != c.tokens_taken;  // pairs with GiveToken
      }
    }
    return TellAll(ready);
  }
  __device__ void TakeToken(int lane, TokenEnd source) {
    if (!IsFirst()) return;
    if (source.kind == EventKind::kLane) {
      ++LaneTokens(source.index, lane).taken;
    } else {
      ++At(lane, source.index).tokens_taken;
    }
  }
  __device__ void GiveToken(int lane, TokenEnd target) {
    __syncthreads();
    if (!IsFirst()) return;
    if (target.kind == EventKind::kLane) {
      DeviceLaneTokens& tokens = LaneTokens(lane, target.index);
      Release(tokens.given, tokens.given + 1);
    } else {
      DeviceConnection& c = At(lane, target.index);
      Release(c.tokens_there->value, ++c.tokens_given);
    }
  }
  __device__ bool MessageReady(int lane, int peer, Buffer buffer) {
    bool ready = false;
    if (IsFirst()) {
      const DeviceFifo& fifo = Fifo(lane, peer, buffer);
      ready = Acquire(fifo.messages_here->value) != fifo.read;  // pairs with Sent
    }
    return TellAll(ready);
  }
  __device__ bool CreditReady(int lane, int peer, Buffer buffer) {
    bool ready = false;
    if (IsFirst()) {
      const DeviceFifo& fifo = Fifo(lane, peer, buffer);
      ready = fifo.sent - Acquire(fifo.credits_here->value) < kDeviceSlots;  // pairs with Consumed
    }
    return TellAll(ready);
  }
  __device__ void Sent(int lane, int peer, Buffer buffer) {
    __syncthreads();
    if (!IsFirst()) return;
    DeviceFifo& fifo = Fifo(lane, peer, buffer);
    Release(fifo.messages_there->value, ++fifo.sent);
  }
  __device__ void Consumed(int lane, int peer, Buffer buffer) {
    __syncthreads();
    if (!IsFirst()) return;
    DeviceFifo& fifo = Fifo(lane, peer, buffer);
    Release(fifo.credits_there->value, ++fifo.read);
  }

  __device__ void Move(int lane, const Step& step, const LoopCounters& at, int slice) {
    std::size_t offset = 0;  // of the chunk within messages
    for (int j = 0; j < step.source[0].run.count; ++j) {
      __syncthreads();  // the threads have done with the chunk before
      if (IsFirst()) {
        operands_.source_count = operands_.target_count = 0;
        operands_.bytes = DeviceOperands::kUnknown;
        const Piece piece{lane, j, slice, offset};
        for (int s = 0; s < step.source_count; ++s) AddSources(step.source[s], at, piece);
        for (int d = 0; d < step.destination_count; ++d) AddTargets(step.destination[d], at, piece);
      }
      __syncthreads();
      MoveElements(step.final);
      offset += operands_.bytes;
    }
    if (IsFirst()) Announce(lane, step, at, offset);
  }

 private:
  using Storage = typename E::Storage;

  // Chunk `j` of a step's runs and where it begins in messages.
  struct Piece {
    int lane;
    int j;
    int slice;
    std::size_t offset;
  };

  __device__ static bool IsFirst() { return threadIdx.x == 0; }
  __device__ static bool TellAll(bool of_first) { return __syncthreads_or(of_first) != 0; }
  __device__ static std::uint64_t Acquire(std::uint64_t& value) {
    return cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(value).load(
        cuda::memory_order_acquire);
  }
  __device__ static void Release(std::uint64_t& value, std::uint64_t next) {
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(value).store(
        next, cuda::memory_order_release);
  }

  __device__ DeviceConnection& At(int lane, int peer) const {
    return call_.connections[lane * call_.ranks + peer];
  }
  __device__ DeviceFifo& Fifo(int lane, int peer, Buffer buffer) const {
    DeviceConnection& c = At(lane, peer);
    return buffer == Buffer::kPackets ? c.packets : c.slots;
  }
  __device__ DeviceLaneTokens& LaneTokens(int from, int to) const {
    return call_.lane_tokens[from * call_.lanes + to];
  }
  __device__ static int SlotOf(std::uint64_t message) {
    return static_cast<int>(message & (kDeviceSlots - 1));
  }

  // A slice of a chunk in memory of `owner`; sets the length of this pass.
  __device__ std::byte* Slice(int owner, const Operand& operand, const LoopCounters& at,
                              const Piece& piece) {
    const DeviceBuffers& buffers = call_.buffers[owner];
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

  __device__ void AddSources(const Operand& source, const LoopCounters& at, const Piece& piece) {
    const auto add = [&](int peer) {
      const int index = operands_.source_count++;
      operands_.is_input[index] = source.buffer == Buffer::kInput;
      if (!IsFifo(source)) {
        operands_.sources[index] = Slice(peer, source, at, piece);
        return true;
      }
      const DeviceFifo& fifo = Fifo(piece.lane, peer, source.buffer);
      const int slot = SlotOf(fifo.read);
      // Without a memory operand the message itself says how long the one chunk is.
      if (operands_.bytes == DeviceOperands::kUnknown && source.run.count == 1) {
        operands_.bytes = fifo.messages_here->message_bytes[slot];
      }
      operands_.sources[index] = fifo.inbox + slot * call_.slot_bytes + piece.offset;
      return true;
    };
    ForEachOwner(source, at, piece.lane, add);
  }

  __device__ void AddTargets(const Operand& target, const LoopCounters& at, const Piece& piece) {
    const auto add = [&](int peer) {
      const int index = operands_.target_count++;
      if (!IsFifo(target)) {
        operands_.targets[index] = Slice(peer, target, at, piece);
        return true;
      }
      const DeviceFifo& fifo = Fifo(piece.lane, peer, target.buffer);
      operands_.targets[index] = fifo.outbox + SlotOf(fifo.sent) * call_.slot_bytes + piece.offset;
      return true;
    };
    ForEachOwner(target, at, piece.lane, add);
  }

  template <class Add>
  __device__ void ForEachOwner(const Operand& operand, const LoopCounters& at, int lane,
                               const Add& add) {
    if (operand.place == Place::kSelf) {
      add(rank());
    } else {
      ForEachPeer(operand, at, group(lane), add);
    }
  }

  // A target may be exactly a source: the thread that reads an element also writes it.
  __device__ void MoveElements(bool divide) const {
    const std::size_t count = operands_.bytes / sizeof(Storage);
    for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
      const Storage result = CombineElement<E, kOp>(operands_, i, call_.ranks, divide);
      for (int d = 0; d < operands_.target_count; ++d) {
        reinterpret_cast<Storage*>(operands_.targets[d])[i] = result;
      }
    }
  }

  // Puts the length of the message where the receivers look; Sent publishes it.
  __device__ void Announce(int lane, const Step& step, const LoopCounters& at, std::size_t bytes) {
    for (int d = 0; d < step.destination_count; ++d) {
      const Operand& target = step.destination[d];
      if (!IsFifo(target)) continue;
      ForEachPeer(target, at, group(lane), [&](int peer) {
        const DeviceFifo& fifo = Fifo(lane, peer, target.buffer);
        fifo.messages_there->message_bytes[SlotOf(fifo.sent)] = static_cast<std::uint32_t>(bytes);
        return true;
      });
    }
  }

  const DeviceCall& call_;
  DeviceOperands& operands_;
};

}  // namespace hockney
