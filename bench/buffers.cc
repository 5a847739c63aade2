#include "bench/buffers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "bench/data_check.h"

namespace hockney {
namespace {

constexpr std::size_t kAlignment = 4096;

std::size_t RoundUp(std::size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

// Bytes of the one region that an in-place call works in.
std::size_t SharedBytes(const Layout& layout, int rank) {
  return std::max(layout.BufferBytes(rank, Buffer::kInput),
                  layout.BufferBytes(rank, Buffer::kOutput));
}

// Keeps the compiler from dropping a load whose value nobody uses.
template <class T>
void KeepValue(T value) {
  asm volatile("" : : "r"(value));
}

}  // namespace

std::size_t BufferSet::Bytes(const Layout& layout, int rank, bool in_place) {
  if (in_place) return 2 * kAlignment + RoundUp(SharedBytes(layout, rank) + kGuardBytes);
  return 2 * kAlignment + RoundUp(layout.BufferBytes(rank, Buffer::kInput) + 2 * kGuardBytes) +
         RoundUp(layout.BufferBytes(rank, Buffer::kOutput) + 2 * kGuardBytes);
}

BufferSet::BufferSet(const Layout& layout, int rank, bool in_place, std::span<std::byte> room)
    : room_(room.first(Bytes(layout, rank, in_place))) {
  const std::size_t input_bytes = layout.BufferBytes(rank, Buffer::kInput);
  const std::size_t output_bytes = layout.BufferBytes(rank, Buffer::kOutput);
  const auto guard = [&](std::size_t begin, std::size_t bytes) {
    guards_.push_back(room.subspan(begin - kGuardBytes, kGuardBytes));
    guards_.push_back(room.subspan(begin + bytes, kGuardBytes));
  };
  if (in_place) {
    const Layout::InPlace place = layout.FindInPlace(rank);
    const bool both = input_bytes > 0 && output_bytes > 0;
    const std::size_t inner = both ? place.offset : 0;
    input_ = room.subspan(kAlignment + (place.input_inside_output ? inner : 0), input_bytes);
    output_ = room.subspan(kAlignment + (place.input_inside_output ? 0 : inner), output_bytes);
    guard(kAlignment, SharedBytes(layout, rank));
    return;
  }
  const std::size_t second = kAlignment + RoundUp(input_bytes + 2 * kGuardBytes);
  input_ = room.subspan(kAlignment, input_bytes);
  output_ = room.subspan(second, output_bytes);
  guard(kAlignment, input_bytes);
  guard(second, output_bytes);
}

void BufferSet::Refresh() const {
  std::ranges::fill(input_, kFreshByte);
  std::uint64_t sum = 0;
  const std::size_t words = output_.size() / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, output_.data() + i * sizeof word, sizeof word);
    sum += word;
  }
  KeepValue(sum);
}

void BufferSet::MarkGuards() const {
  for (const auto& bytes : guards_) WriteGuard(bytes);
}

bool BufferSet::GuardsIntact() const {
  return std::all_of(guards_.begin(), guards_.end(),
                     [](const auto& bytes) { return CheckGuard(bytes); });
}

void CacheFlusher::Flush() {
  // One write a line is enough; the value changes so that the line becomes dirty.
  for (std::size_t i = 0; i < bytes_.size(); i += 64) ++bytes_[i];
}

}  // namespace hockney
