// Vectors of elements in their accumulator type, for one Highway target; included once a target.
// Each function is the vector twin of one in scalar.h.

#if defined(HOCKNEY_COLLECTIVES_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKNEY_COLLECTIVES_KERNELS_LANES_INL_H_
#undef HOCKNEY_COLLECTIVES_KERNELS_LANES_INL_H_
#else
#define HOCKNEY_COLLECTIVES_KERNELS_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include "collectives/kernels/copy-inl.h"
#include "collectives/kernels/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace hockney {
namespace HWY_NAMESPACE {

// kPack accumulator vectors fill one vector of stored elements.
template <Element E>
struct Lanes;

template <class T>
struct Lanes<NativeElement<T>> {
  using Tag = hn::ScalableTag<T>;
  using V = hn::Vec<Tag>;
  static constexpr std::size_t kPack = 1;

  static HWY_INLINE V Load(const std::byte* from) {
    return hn::BitCast(Tag(), hn::LoadU(ByteTag(), Raw(from)));
  }
  static HWY_INLINE Bytes Pack(V v) {
    if constexpr (std::is_floating_point_v<T>) {
      const hn::RebindToUnsigned<Tag> bits;
      const V nan =
          hn::BitCast(Tag(), hn::ShiftRight<1>(hn::Set(bits, ~hn::TFromD<decltype(bits)>{0})));
      v = hn::IfThenElse(hn::IsNaN(v), nan, v);
    }
    return hn::BitCast(ByteTag(), v);
  }
};

template <int kExponentBits, int kMantissaBits>
struct Lanes<SmallFloat<kExponentBits, kMantissaBits>> {
  using E = SmallFloat<kExponentBits, kMantissaBits>;
  using Tag = hn::ScalableTag<float>;
  using IntTag = hn::RebindToSigned<Tag>;
  using StorageTag = hn::Rebind<typename E::Storage, Tag>;
  using V = hn::Vec<Tag>;
  using Int = hn::Vec<IntTag>;
  using Stored = hn::Vec<StorageTag>;
  static constexpr std::size_t kPack = sizeof(float) / sizeof(typename E::Storage);
  static constexpr bool kHasFloat32Exponent = kExponentBits == 8;

  static HWY_INLINE Int Set(std::uint32_t value) {
    return hn::Set(IntTag(), static_cast<std::int32_t>(value));
  }
  static HWY_INLINE V AsFloat(Int v) { return hn::BitCast(Tag(), v); }
  static HWY_INLINE Int AsInt(V v) { return hn::BitCast(IntTag(), v); }

  static HWY_INLINE V Load(const std::byte* from) {
    const hn::Rebind<hwy::float16_t, Tag> half_tag;
    const hn::Rebind<std::uint16_t, Tag> half_bits;
    const hn::Repartition<std::uint8_t, StorageTag> byte_tag;
    const Stored stored = hn::BitCast(StorageTag(), hn::LoadU(byte_tag, Raw(from)));
    if constexpr (kHasFloat32Exponent) {
      return AsFloat(hn::ShiftLeft<E::kShift>(hn::PromoteTo(IntTag(), stored)));
    } else if constexpr (E::kBits == 16) {
      return hn::PromoteTo(Tag(), hn::BitCast(half_tag, stored));
    } else {  // moved into the fields of a float16, which the hardware reads, denormals too
      const auto code = hn::PromoteTo(half_bits, stored);
      if constexpr (!E::kIsE4m3) {
        return hn::PromoteTo(Tag(), hn::BitCast(half_tag, hn::ShiftLeft<8>(code)));
      } else {
        const auto magnitude = hn::And(code, hn::Set(half_bits, E::kNan));
        const auto sign = hn::ShiftLeft<8>(hn::Xor(code, magnitude));
        const auto nan =
            hn::And(hn::VecFromMask(half_bits, hn::Eq(magnitude, hn::Set(half_bits, E::kNan))),
                    hn::Set(half_bits, Float16::kNan));
        const auto half = hn::Or(hn::Or(sign, nan), hn::ShiftLeft<7>(magnitude));
        const V biased = hn::PromoteTo(Tag(), hn::BitCast(half_tag, half));
        return hn::Mul(biased, hn::Set(Tag(), 256.0f));  // exponent biases 15 and 7
      }
    }
  }

  static HWY_INLINE Stored Encode(V v) {
    if constexpr (E::kBits == 16 && !kHasFloat32Exponent) {
      const hn::Rebind<hwy::float16_t, Tag> half_tag;
      v = hn::IfThenElse(hn::IsNaN(v), AsFloat(Set(0x7fffffffu)), v);
      return hn::BitCast(StorageTag(), hn::DemoteTo(half_tag, v));
    } else {
      return EncodeByParts(v);
    }
  }

  static HWY_INLINE Stored EncodeByParts(V v) {
    const Int magnitude = hn::And(AsInt(v), Set(0x7fffffffu));
    const Int sign = hn::And(hn::ShiftRight<32 - E::kBits>(AsInt(v)), Set(E::kSign));
    const Int odd = hn::And(hn::ShiftRight<E::kShift>(magnitude), Set(1));
    const Int half = Set((1u << (E::kShift - 1)) - 1 - E::kRebias);
    Int code = hn::ShiftRight<E::kShift>(hn::Add(hn::Add(magnitude, half), odd));
    if constexpr (!kHasFloat32Exponent) {
      const V magic = hn::Set(Tag(), FloatFromBits(E::kDenormalMagic));
      const Int denormal = hn::Sub(AsInt(hn::Add(AsFloat(magnitude), magic)), AsInt(magic));
      code = hn::IfThenElse(hn::Gt(Set(E::kRebias + (1u << 23)), magnitude), denormal, code);
      code = hn::Min(code, Set(E::kOverflow));
    }
    code = hn::Or(code, sign);
    code = hn::IfThenElse(hn::Gt(magnitude, Set(0x7f800000u)), Set(E::kNan), code);
    return hn::DemoteTo(StorageTag(), code);
  }

  using FullTag = hn::ScalableTag<typename E::Storage>;
  static HWY_INLINE Bytes Pack(V v0, V v1) requires(kPack == 2) {
    return hn::BitCast(ByteTag(), hn::Combine(FullTag(), Encode(v1), Encode(v0)));
  }
  static HWY_INLINE Bytes Pack(V v0, V v1, V v2, V v3) requires(kPack == 4) {
    const hn::Half<FullTag> half;
    return hn::Combine(FullTag(), hn::Combine(half, Encode(v3), Encode(v2)),
                       hn::Combine(half, Encode(v1), Encode(v0)));
  }
};

// Integer products that the instruction sets lack, from those of half or double width.
template <class V>
HWY_INLINE V Product(V a, V b) {
  using Tag = hn::DFromV<V>;
  using T = hn::TFromD<Tag>;
  const Tag tag;
  if constexpr (sizeof(T) == 1) {
    const hn::Repartition<std::uint16_t, Tag> wide;
    const auto a16 = hn::BitCast(wide, a);
    const auto b16 = hn::BitCast(wide, b);
    const auto even = hn::And(hn::Mul(a16, b16), hn::Set(wide, 0xff));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16)));
    return hn::BitCast(tag, hn::Or(even, odd));
  } else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
    const hn::Repartition<std::uint64_t, Tag> wide;
    const hn::Repartition<std::uint32_t, Tag> narrow;
    const auto a32 = hn::BitCast(narrow, a);
    const auto b32 = hn::BitCast(narrow, b);
    const auto a_high = hn::BitCast(narrow, hn::ShiftRight<32>(hn::BitCast(wide, a)));
    const auto b_high = hn::BitCast(narrow, hn::ShiftRight<32>(hn::BitCast(wide, b)));
    const auto cross = hn::Add(hn::MulEven(a_high, b32), hn::MulEven(a32, b_high));
    return hn::BitCast(tag, hn::Add(hn::MulEven(a32, b32), hn::ShiftLeft<32>(cross)));
  } else {
    return hn::Mul(a, b);
  }
}

template <ReduceOp kOp, class V>
HWY_INLINE V CombineLanes(V a, V b) {
  using T = hn::TFromV<V>;
  if constexpr (kOp == ReduceOp::kProd) {
    return Product(a, b);
  } else if constexpr (kOp == ReduceOp::kSum) {
    return hn::Add(a, b);
  } else if constexpr (std::is_integral_v<T>) {
    return kOp == ReduceOp::kMin ? hn::Min(a, b) : hn::Max(a, b);
  } else {  // two NaNs need no care: Pack() makes one canonical
    const auto better = kOp == ReduceOp::kMin ? hn::Lt(b, a) : hn::Lt(a, b);
    return hn::IfThenElse(hn::Or(better, hn::IsNaN(a)), b, a);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hockney
HWY_AFTER_NAMESPACE();
#endif
