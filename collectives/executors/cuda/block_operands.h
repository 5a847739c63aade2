#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collectives/executors/connection_protocol.h"
#include "collectives/executors/cuda/block_call.h"
#include "collectives/kernels/scalar.h"

namespace hockney {

// The sources and destinations of one chunk of a step, which all threads of a block share.
struct BlockOperands {
  static constexpr int kMost = kMaxOperands * kMaxBlockRanks;
  static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

  struct Source {
    const std::byte* data;                      // null: in packets
    const std::atomic<std::uint64_t>* packets;  // the message's first word of data
    std::size_t packet_offset;                  // of the chunk within the message
    bool is_input;
  };
  Source sources[kMost];
  std::byte* targets[kMost];
  int source_count;
  int target_count;
  std::size_t bytes;
  bool any_packets;  // among the sources
  bool stages;       // some target is in packets: the chunk goes to `staged` first
  // Of the packet message that is looked for.
  const std::atomic<std::uint64_t>* packets;
  std::uint64_t flag;
  std::uint64_t head;
  alignas(16) std::byte staged[kMaxStagedBytes];
};

// Some elements of one type that are read and written at once.
template <class Storage, int kCount>
struct alignas(sizeof(Storage) * kCount) ElementVector {
  Storage at[kCount];
};

// Elements of a vector of 16 bytes, which is what one access of a GPU moves.
template <class Storage>
inline constexpr int kWideCount = static_cast<int>(16 / sizeof(Storage));

// Reads one element from packets, each of which carries 4 bytes of data below its flag.
template <class Access, class Storage>
HOCKNEY_HOST_DEVICE Storage LoadFromPackets(const BlockOperands::Source& source,
                                            std::size_t element) {
  const std::size_t at = source.packet_offset + element * sizeof(Storage);
  const std::uint64_t low = Access::Load(source.packets[at / 4]) & kPacketDataMask;
  if constexpr (sizeof(Storage) == 8) {
    return __builtin_bit_cast(Storage, low | Access::Load(source.packets[at / 4 + 1]) << 32);
  } else if constexpr (sizeof(Storage) == 4) {
    return __builtin_bit_cast(Storage, static_cast<std::uint32_t>(low));
  } else {
    using Bits = std::conditional_t<sizeof(Storage) == 2, std::uint16_t, std::uint8_t>;
    return __builtin_bit_cast(Storage, static_cast<Bits>(low >> 8 * (at % 4)));
  }
}

// The elements of several vectors: [first + v * stride, ... + length) of vector v.
struct VectorPlaces {
  std::size_t first = 0;
  std::size_t stride = 0;
};

// `kVectors` parts of the result of one pass over all sources, as KernelArgs states it, at
// `places`. All parts of a source are read before any
// is used, so that as many reads are under way.
template <class Access, Element E, ReduceOp kOp, int kCount, int kVectors>
HOCKNEY_HOST_DEVICE void CombineElements(const BlockOperands& operands, const VectorPlaces& places,
                                         int ranks, bool divide,
                                         ElementVector<typename E::Storage, kCount>* results) {
  using Storage = typename E::Storage;
  using Vector = ElementVector<Storage, kCount>;
  using A = typename E::Accumulator;
  constexpr bool kScales = kOp == ReduceOp::kAvg && std::is_floating_point_v<A>;
  constexpr bool kDivides = kOp == ReduceOp::kAvg && std::is_integral_v<A>;
  A sums[kVectors][kCount]{};
  for (int s = 0; s < operands.source_count; ++s) {
    const BlockOperands::Source& source = operands.sources[s];
    Vector stored[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const std::size_t at = places.first + v * places.stride;
      if (source.data == nullptr) {
        for (int e = 0; e < kCount; ++e) {
          stored[v].at[e] = LoadFromPackets<Access, Storage>(source, at + e);
        }
      } else {
        stored[v] = *reinterpret_cast<const Vector*>(source.data + at * sizeof(Storage));
      }
    }
    const bool scales = kScales && ranks > 1 && source.is_input;
    if (operands.source_count == 1 && !scales && !(kDivides && divide)) {
      for (int v = 0; v < kVectors; ++v) results[v] = stored[v];
      return;
    }
    for (int v = 0; v < kVectors; ++v) {
      for (int e = 0; e < kCount; ++e) {
        A value = E::Decode(stored[v].at[e]);
        if constexpr (kScales) {
          if (scales) value = value * AverageScale<A>(ranks);
        }
        sums[v][e] = s == 0 ? value : Combine<kOp>(sums[v][e], value);
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int e = 0; e < kCount; ++e) {
      if constexpr (kDivides) {
        if (divide) sums[v][e] = Divide(sums[v][e], ranks);
      }
      results[v].at[e] = E::Encode(sums[v][e]);
    }
  }
}

// Whether all operands may be moved in vectors of 16 bytes.
HOCKNEY_HOST_DEVICE inline bool AreWide(const BlockOperands& operands) {
  std::uintptr_t bits = 0;
  for (int s = 0; s < operands.source_count; ++s) {
    bits |= reinterpret_cast<std::uintptr_t>(operands.sources[s].data);
  }
  for (int d = 0; d < operands.target_count; ++d) {
    bits |= reinterpret_cast<std::uintptr_t>(operands.targets[d]);
  }
  return !operands.any_packets && bits % 16 == 0;
}

}  // namespace hockney
