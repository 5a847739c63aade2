#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collectives/executors/connection.h"
#include "collectives/interpreter.h"
#include "collectives/layout.h"

namespace hockney {

inline constexpr int kMostBlockThreads = 512;
inline constexpr int kMaxBlockRanks = 32;  // one peer-memory domain
// A message in packets is put together here before it goes, in memory of the block.
inline constexpr std::size_t kMaxStagedBytes = 4096;

// A rank's buffers as this rank reaches them, and where their chunks lie (Layout::Find).
struct BlockBuffers {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  const ByteRange* input_chunks = nullptr;
  const ByteRange* output_chunks = nullptr;
};

// Tokens from one lane of this rank to another. `taken` is the taker's own.
struct BlockLaneTokens {
  std::atomic<std::uint64_t> given;
  std::uint64_t taken = 0;
};

// Where a lane gave up, for the host to say.
struct BlockReport {
  std::int32_t gave_up = 0;
  std::int32_t step = 0;
};

// All that the blocks of a rank get for one call: a lane is a block of threads. Arrays are in
// memory that all of them reach; nothing here changes from call to call, so that a launch can be
// repeated as it is: counters run on in the connections. Buffers, chunks and slices lie on
// multiples of the element.
struct BlockCall {
  int rank = 0;
  int ranks = 1;
  int lanes = 1;
  int slices = 1;
  int slots = 8;  // of every connection, a power of two
  std::size_t slice_bytes = 0;
  std::size_t slot_bytes = 0;
  std::size_t packet_words = 0;           // of a packet slot, the length's included
  const Lane* programs = nullptr;         // [lane]
  const RankGroup* groups = nullptr;      // [lane], with members that the blocks reach
  const BlockBuffers* buffers = nullptr;  // [rank]
  std::byte* scratch = nullptr;
  const ByteRange* scratch_chunks = nullptr;
  Connection* connections = nullptr;            // [lane * ranks + peer]
  BlockLaneTokens* lane_tokens = nullptr;       // [from * lanes + to]
  std::atomic<std::uint32_t>* abort = nullptr;  // not 0: give up; the host may set it
  std::uint64_t timeout_ns = 0;                 // for any wait
  BlockReport* reports = nullptr;               // [lane]
};
static_assert(std::is_trivially_copyable_v<BlockCall> && std::is_trivially_copyable_v<Connection> &&
              std::is_trivially_copyable_v<BlockBuffers>);

}  // namespace hockney
