#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/executors/connection.h"
#include "collectives/flow.h"

namespace hockney {

// What ranks that share memory agree on; all pass the same but for the arena.
struct DomainOptions {
  std::size_t arena_bytes = 0;  // for the users' buffers
  int lanes = 4;
  FlowLimits limits{};
  std::uint64_t first_count = 0;  // where all counters start (tests: just below their wrap)
};

// Where things lie in the memory that each rank of a peer-memory domain (one host, or GPUs that
// reach each other) gives to the others: a board for what they agree on, the counters of all (lane,
// peer), then their slots, then their packets, then whatever the owner adds. Zeroed memory with
// counters in it is ready for use.
class SegmentPlan {
 public:
  static constexpr std::size_t kBoardBytes = 4096;

  // Throws std::invalid_argument for lanes or slots out of range.
  SegmentPlan(int lanes, int ranks, const FlowLimits& limits);

  int lanes() const { return lanes_; }
  int ranks() const { return ranks_; }
  const FlowLimits& limits() const { return limits_; }
  // Bytes before what the owner adds, a multiple of 2 MiB.
  std::size_t ControlBytes() const;
  // The counters lie in [kBoardBytes, CountersEnd()).
  std::size_t CountersEnd() const { return FindPlace(lanes_, 0).counters; }
  // Words of one packet slot: a length and the data, 4 bytes a word.
  std::size_t PacketWords() const { return 1 + limits_.packet_slot_bytes / 4; }

  // A rank, and where its segment begins.
  struct End {
    int rank = 0;
    std::byte* segment = nullptr;
  };
  // Returns the end that `mine` has of its connection with `theirs` on `lane`. All counts start at
  // `first_count`; so must the counters in both segments.
  Connection Join(int lane, const End& mine, const End& theirs, std::uint64_t first_count) const;

  // Makes all counters of the segment that begins at `segment`, which the caller can write to.
  void MakeCounters(std::byte* segment, std::uint64_t first_count) const;

 private:
  struct Place {
    std::size_t counters = 0;
    std::size_t slots = 0;
    std::size_t packets = 0;
  };
  Place FindPlace(int lane, int peer) const;

  int lanes_;
  int ranks_;
  FlowLimits limits_;
};

}  // namespace hockney
