#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bench/sweep_options.h"
#include "collectives/executors/executor.h"

namespace hockney {

// One rank's input and output of one collective call, with guard bytes around, inside the rank's
// arena.
class BufferSet {
 public:
  static constexpr std::size_t kGuardBytes = 256;

  // Bytes that a set takes at `rank`.
  static std::size_t Bytes(const Layout& layout, int rank, bool in_place);

  // Lays the set out at the start of `room`, which holds at least Bytes(). Buffers begin on
  // 4096-byte boundaries.
  BufferSet(const Layout& layout, int rank, bool in_place, std::span<std::byte> room);

  // All of it, guards included.
  std::span<std::byte> room() const { return room_; }
  // Empty where the collective has no such buffer at this rank.
  std::span<std::byte> input() const { return input_; }
  std::span<std::byte> output() const { return output_; }

  // 0x3c bytes are a small normal number in every float type: no denormals in what is timed.
  static constexpr std::byte kFreshByte{0x3c};
  // What a user's program does between calls: rewrites the input and reads the output.
  void Refresh() const;

  void MarkGuards() const;
  [[nodiscard]] bool GuardsIntact() const;

 private:
  std::span<std::byte> room_;
  std::span<std::byte> input_;
  std::span<std::byte> output_;
  std::vector<std::span<std::byte>> guards_;
};

// Drives everything out of this core's caches by writing a buffer of its own.
class CacheFlusher {
 public:
  explicit CacheFlusher(std::size_t bytes) : bytes_(bytes) {}
  void Flush();

 private:
  std::vector<unsigned char> bytes_;
};

}  // namespace hockney
