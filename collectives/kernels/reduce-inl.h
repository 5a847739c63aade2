// Reductions for one Highway target; included once a target.

#if defined(HOCKNEY_COLLECTIVES_KERNELS_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKNEY_COLLECTIVES_KERNELS_REDUCE_INL_H_
#undef HOCKNEY_COLLECTIVES_KERNELS_REDUCE_INL_H_
#else
#define HOCKNEY_COLLECTIVES_KERNELS_REDUCE_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "collectives/kernels/kernels.h"
#include "collectives/kernels/scalar.h"

// The targets without vectors, always compiled last, take the reference kernel: no machine of
// interest lacks SSE4.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "collectives/kernels/lanes-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace hockney {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// Divides the elements of one vector. No instruction set has integer division.
template <std::integral T>
HWY_NOINLINE Bytes DivideLanes(Bytes bytes, int ranks) {
  HWY_ALIGN T lanes[kVectorBytes / sizeof(T)];
  const hn::ScalableTag<T> tag;
  hn::Store(hn::BitCast(tag, bytes), tag, lanes);
  for (T& lane : lanes) lane = Divide(lane, ranks);
  return hn::BitCast(ByteTag(), hn::Load(tag, lanes));
}

// One element type, one reduction. Offsets and lengths are in bytes.
template <Element E, ReduceOp kOp>
class Reducer {
 public:
  Reducer(const KernelArgs& args, bool stream) : args_(args), stream_(stream) {
    if constexpr (kScales) scale_ = hn::Set(typename L::Tag(), AverageScale<A>(args.ranks));
  }

  void Run() {
    const std::size_t bytes = args_.count * sizeof(typename E::Storage);
    std::size_t head = 0;
    if (stream_) {
      head = BytesToAlignment(args_.destinations[0], kCacheLineBytes);
      if (head % sizeof(typename E::Storage) != 0) head = 0;  // never aligned: stores stay cached
      head = std::min(head, bytes);
      RunShort(0, head);
    }
    if (args_.source_count == 2) {
      RunBlocks<2>(head, bytes);
    } else {
      RunBlocks<0>(head, bytes);
    }
    if (stream_) hwy::FlushStream();
  }

 private:
  using L = Lanes<E>;
  using V = typename L::V;
  using A = typename E::Accumulator;
  static constexpr bool kScales = kOp == ReduceOp::kSum && std::is_floating_point_v<A>;
  static constexpr bool kDivides = kOp == ReduceOp::kSum && std::is_integral_v<A>;
  static constexpr std::size_t kLaneBytes =
      kVectorBytes / L::kPack;  // one accumulator vector, as stored
  static constexpr std::size_t kBlockLanes =
      4;  // enough independent chains to hide the latency of an add

  // kSources 0 means: as many as the arguments say.
  template <std::size_t kSources>
  HWY_INLINE void RunBlocks(std::size_t begin, std::size_t end) {
    constexpr std::size_t kBlockBytes = kBlockLanes * kLaneBytes;
    for (; end - begin >= kBlockBytes; begin += kBlockBytes) {
      Block<kSources>(std::make_index_sequence<kBlockLanes>(), begin);
    }
    RunShort(begin, end);
  }

  HWY_NOINLINE void RunShort(std::size_t begin, std::size_t end) {
    for (; end - begin >= kVectorBytes; begin += kVectorBytes) {
      Block<0>(std::make_index_sequence<L::kPack>(), begin);
    }
    if (begin < end) PartialVector(begin, end - begin);
  }

  template <std::size_t kSources, std::size_t... kLanes>
  HWY_INLINE void Block(std::index_sequence<kLanes...>, std::size_t at) {
    const std::byte* source = args_.sources[0] + at;
    V sum[] = {Scale(L::Load(source + kLanes * kLaneBytes), 0)...};
    const std::size_t sources = kSources != 0 ? kSources : args_.source_count;
    for (std::size_t s = 1; s < sources; ++s) {
      source = args_.sources[s] + at;
      ((sum[kLanes] =
            CombineLanes<kOp>(sum[kLanes], Scale(L::Load(source + kLanes * kLaneBytes), s))),
       ...);
    }
    StoreBlock(std::make_index_sequence<sizeof...(kLanes) / L::kPack>(), sum, at);
  }

  template <std::size_t... kVectors>
  HWY_INLINE void StoreBlock(std::index_sequence<kVectors...>, const V* sum, std::size_t at) {
    const Bytes packed[] = {Pack(sum + kVectors * L::kPack)...};
    for (std::size_t d = 0; d < args_.destination_count; ++d) {
      std::byte* to = args_.destinations[d] + at;
      if (stream_ && BytesToAlignment(to, kVectorBytes) == 0) {
        (StreamBytes(packed[kVectors], to + kVectors * kVectorBytes), ...);
      } else {
        (hn::StoreU(packed[kVectors], ByteTag(), Raw(to + kVectors * kVectorBytes)), ...);
      }
    }
  }

  // Less than a vector: through a buffer, so that nothing beyond the end is touched.
  HWY_INLINE void PartialVector(std::size_t at, std::size_t bytes) {
    HWY_ALIGN std::byte buffer[kVectorBytes] = {};
    V sum[L::kPack];
    for (std::size_t s = 0; s < args_.source_count; ++s) {
      std::memcpy(buffer, args_.sources[s] + at, bytes);
      for (std::size_t lane = 0; lane < L::kPack; ++lane) {
        const V value = Scale(L::Load(buffer + lane * kLaneBytes), s);
        sum[lane] = s == 0 ? value : CombineLanes<kOp>(sum[lane], value);
      }
    }
    hn::Store(Pack(sum), ByteTag(), Raw(buffer));
    for (std::size_t d = 0; d < args_.destination_count; ++d) {
      std::memcpy(args_.destinations[d] + at, buffer, bytes);
    }
  }

  HWY_INLINE V Scale(V value, std::size_t source) const {
    if constexpr (kScales) {
      if (args_.scaled != nullptr && args_.scaled[source] != 0) return hn::Mul(value, scale_);
    }
    return value;
  }

  HWY_INLINE Bytes Pack(const V* sum) const {
    if constexpr (kDivides) {
      const Bytes bytes = L::Pack(sum[0]);
      return args_.divide ? DivideLanes<A>(bytes, args_.ranks) : bytes;
    } else if constexpr (L::kPack == 1) {
      return L::Pack(sum[0]);
    } else if constexpr (L::kPack == 2) {
      return L::Pack(sum[0], sum[1]);
    } else {
      return L::Pack(sum[0], sum[1], sum[2], sum[3]);
    }
  }

  const KernelArgs
      args_;  // a copy: stores of bytes could otherwise change it, so that each would reload it
  const bool stream_;
  V scale_ = hn::Zero(typename L::Tag());
};

template <Element E, ReduceOp kOp, StorePolicy kStore>
void RunKernel(const KernelArgs& args) {
  constexpr bool kIsFloat = std::is_floating_point_v<typename E::Accumulator>;
  if (args.count == 0) return;
  KernelArgs own = args;
  if (kOp != ReduceOp::kAvg || !kIsFloat) own.scaled = nullptr;
  if (kOp != ReduceOp::kAvg || kIsFloat) own.divide = false;
  if (args.source_count == 1 && !own.divide && (own.scaled == nullptr || own.scaled[0] == 0)) {
    return CopyAll(own, own.count * sizeof(typename E::Storage), kStore);
  }
  constexpr ReduceOp kBaseOp = kOp == ReduceOp::kAvg ? ReduceOp::kSum : kOp;
  Reducer<E, kBaseOp>(own, kStore == StorePolicy::kNonTemporal).Run();
}

#else

template <Element E, ReduceOp kOp, StorePolicy kStore>
void RunKernel(const KernelArgs& args) {
  for (const DataType type : kAllDataTypes) {
    if (VisitElement(type, []<Element F>(F) { return std::same_as<E, F>; })) {
      return ReferenceKernel(type, kOp, args);
    }
  }
}

#endif

template <Element E, StorePolicy kStore>
Kernel FindWith(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return &RunKernel<E, ReduceOp::kSum, kStore>;
    case ReduceOp::kProd:
      return &RunKernel<E, ReduceOp::kProd, kStore>;
    case ReduceOp::kMin:
      return &RunKernel<E, ReduceOp::kMin, kStore>;
    case ReduceOp::kMax:
      return &RunKernel<E, ReduceOp::kMax, kStore>;
    case ReduceOp::kAvg:
      return &RunKernel<E, ReduceOp::kAvg, kStore>;
  }
  throw std::invalid_argument("unknown ReduceOp " + std::to_string(static_cast<int>(op)));
}

// Throws std::invalid_argument if `type` is not of the family, floats or integers.
template <bool kFloats>
Kernel FindIn(DataType type, ReduceOp op, StorePolicy store) {
  return VisitElement(type, [&]<Element E>(E) -> Kernel {
    if constexpr (std::is_floating_point_v<typename E::Accumulator> == kFloats) {
      return store == StorePolicy::kNonTemporal ? FindWith<E, StorePolicy::kNonTemporal>(op)
                                                : FindWith<E, StorePolicy::kCached>(op);
    }
    throw std::invalid_argument("DataType of the wrong family: " + std::string(Name(type)));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hockney
HWY_AFTER_NAMESPACE();
#endif
