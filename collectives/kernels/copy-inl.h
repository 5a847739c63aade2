// Copies for one Highway target; included once a target.

#if defined(HOCKNEY_COLLECTIVES_KERNELS_COPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKNEY_COLLECTIVES_KERNELS_COPY_INL_H_
#undef HOCKNEY_COLLECTIVES_KERNELS_COPY_INL_H_
#else
#define HOCKNEY_COLLECTIVES_KERNELS_COPY_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace hockney {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ByteTag = hn::ScalableTag<std::uint8_t>;
using Bytes = hn::Vec<ByteTag>;
inline constexpr std::size_t kVectorBytes = hn::MaxLanes(ByteTag());
inline constexpr std::size_t kCacheLineBytes = 64;

HWY_INLINE std::uint8_t* Raw(std::byte* bytes) { return reinterpret_cast<std::uint8_t*>(bytes); }
HWY_INLINE const std::uint8_t* Raw(const std::byte* bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes);
}
HWY_INLINE std::size_t BytesToAlignment(const std::byte* address, std::size_t alignment) {
  return -reinterpret_cast<std::uintptr_t>(address) & (alignment - 1);
}

// `to` is a multiple of kVectorBytes. ThreadSanitizer does not see streaming stores.
HWY_INLINE void StreamBytes(Bytes bytes, std::byte* to) {
#ifdef __SANITIZE_THREAD__
  hn::Store(bytes, ByteTag(), Raw(to));
#else
  hn::Stream(bytes, ByteTag(), Raw(to));
#endif
}

HWY_INLINE void StreamCopy(const std::byte* from, std::byte* to, std::size_t bytes) {
  const std::size_t head = std::min(bytes, BytesToAlignment(to, kCacheLineBytes));
  std::memcpy(to, from, head);
  const ByteTag tag;
  std::size_t at = head;
  for (; bytes - at >= 4 * kVectorBytes; at += 4 * kVectorBytes) {
    const Bytes v0 = hn::LoadU(tag, Raw(from + at));
    const Bytes v1 = hn::LoadU(tag, Raw(from + at + kVectorBytes));
    const Bytes v2 = hn::LoadU(tag, Raw(from + at + 2 * kVectorBytes));
    const Bytes v3 = hn::LoadU(tag, Raw(from + at + 3 * kVectorBytes));
    StreamBytes(v0, to + at);
    StreamBytes(v1, to + at + kVectorBytes);
    StreamBytes(v2, to + at + 2 * kVectorBytes);
    StreamBytes(v3, to + at + 3 * kVectorBytes);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

// Copies source 0 to every destination but itself, piece by piece: a piece stays in the first-level
// cache for the next destination, and is short enough that memcpy does not stream by itself.
inline void CopyAll(const KernelArgs& args, std::size_t bytes, StorePolicy store) {
  constexpr std::size_t kPieceBytes = 16 * 1024;
  std::size_t piece = kPieceBytes + BytesToAlignment(args.destinations[0], kCacheLineBytes);
  for (std::size_t at = 0; at < bytes; at += piece, piece = kPieceBytes) {
    piece = std::min(piece, bytes - at);
    for (std::size_t d = 0; d < args.destination_count; ++d) {
      if (args.destinations[d] == args.sources[0]) continue;
      if (store == StorePolicy::kNonTemporal) {
        StreamCopy(args.sources[0] + at, args.destinations[d] + at, piece);
      } else {
        std::memcpy(args.destinations[d] + at, args.sources[0] + at, piece);
      }
    }
  }
  if (store == StorePolicy::kNonTemporal) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace hockney
HWY_AFTER_NAMESPACE();
#endif
