#pragma once

// Arithmetic on one element: the number formats of DataType and the reductions, stated once for CPU
// reference, checks and GPU kernels. A computed NaN is always written as the canonical one, sign
// clear and all lower bits set: hardware disagrees about NaN payloads, and results must not.

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "collectives/host_device.h"
#include "collectives/types.h"

namespace hockney {

// __builtin_bit_cast, for std::bit_cast is not callable on a GPU.
HOCKNEY_HOST_DEVICE constexpr std::uint32_t FloatBits(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
HOCKNEY_HOST_DEVICE constexpr float FloatFromBits(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

// An element whose arithmetic is done in its own type.
template <class T>
requires std::is_arithmetic_v<T>
struct NativeElement {
  using Storage = T;
  using Accumulator = T;

  HOCKNEY_HOST_DEVICE static constexpr T Decode(T stored) { return stored; }
  HOCKNEY_HOST_DEVICE static constexpr T Encode(T value) {
    if constexpr (std::same_as<T, float>) {
      return value == value ? value : FloatFromBits(0x7fffffffu);
    } else if constexpr (std::same_as<T, double>) {
      return value == value ? value : __builtin_bit_cast(double, ~std::uint64_t{0} >> 1);
    } else {
      return value;
    }
  }
};

// An IEEE-like 8- or 16-bit float, computed with in float32. Decode is exact; Encode rounds to
// nearest even. 16-bit formats overflow to infinity; 8-bit ones saturate to the largest finite
// value, infinities too. Source: "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0;
// e4m3 has no infinity and one NaN a sign.
template <int kExponentBits, int kMantissaBits>
struct SmallFloat {
  static constexpr int kBits = 1 + kExponentBits + kMantissaBits;
  using Storage = std::conditional_t<kBits == 8, std::uint8_t, std::uint16_t>;
  using Accumulator = float;

  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kShift = 23 - kMantissaBits;  // from this mantissa to that of float32
  static constexpr std::uint32_t kSign = 1u << (kBits - 1);
  static constexpr std::uint32_t kNan = kSign - 1;
  static constexpr std::uint32_t kAllExponent = ((1u << kExponentBits) - 1) << kMantissaBits;
  static constexpr bool kIsE4m3 = kExponentBits == 4;
  static constexpr std::uint32_t kFirstSpecial = kIsE4m3 ? kNan : kAllExponent;  // infinity or NaN
  static constexpr std::uint32_t kOverflow = kBits == 8 ? kFirstSpecial - 1 : kAllExponent;
  static constexpr std::uint32_t kFirstNormal = 1u << kMantissaBits;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  // Bits, as float32, of the least denormal; and of the number whose unit in the last place that
  // denormal is, so that adding it rounds to a denormal.
  static constexpr std::uint32_t kDenormalUnit =
      kExponentBits == 8 ? 0 : (128u - kBias - kMantissaBits) << 23;
  static constexpr std::uint32_t kDenormalMagic = kDenormalUnit + (23u << 23);

  HOCKNEY_HOST_DEVICE static constexpr float Decode(Storage stored) {
    const std::uint32_t sign = (stored & kSign) << (32 - kBits);
    const std::uint32_t magnitude = stored & kNan;
    if constexpr (kExponentBits == 8) return FloatFromBits(sign | magnitude << kShift);
    std::uint32_t bits = (magnitude << kShift) + kRebias;
    if (magnitude >= kFirstSpecial) bits = magnitude << kShift | 0x7f800000u;
    if (magnitude < kFirstNormal) {
      bits = FloatBits(static_cast<float>(magnitude) * FloatFromBits(kDenormalUnit));
    }
    return FloatFromBits(sign | bits);
  }

  HOCKNEY_HOST_DEVICE static constexpr Storage Encode(float value) {
    const std::uint32_t sign = FloatBits(value) >> 31 << (kBits - 1);
    const std::uint32_t magnitude = FloatBits(value) & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<Storage>(kNan);
    std::uint32_t code = 0;
    if (kExponentBits != 8 && magnitude < kRebias + (1u << 23)) {
      code = FloatBits(FloatFromBits(magnitude) + FloatFromBits(kDenormalMagic)) - kDenormalMagic;
    } else {
      const std::uint32_t odd = magnitude >> kShift & 1;
      code = (magnitude - kRebias + (1u << (kShift - 1)) - 1 + odd) >> kShift;
    }
    return static_cast<Storage>(sign | (code < kOverflow ? code : kOverflow));
  }
};

using Float16 = SmallFloat<5, 10>;
using Bfloat16 = SmallFloat<8, 7>;
using Float8E4m3 = SmallFloat<4, 3>;
using Float8E5m2 = SmallFloat<5, 2>;

template <class E>
concept Element = requires(typename E::Storage stored, typename E::Accumulator value) {
  { E::Decode(stored) } -> std::same_as<typename E::Accumulator>;
  { E::Encode(value) } -> std::same_as<typename E::Storage>;
};

// Calls f(E{}) with the element type of `type`.
template <class F>
decltype(auto) VisitElement(DataType type, F&& f) {
  switch (type) {
    case DataType::kInt8:
      return f(NativeElement<std::int8_t>{});
    case DataType::kUint8:
      return f(NativeElement<std::uint8_t>{});
    case DataType::kInt32:
      return f(NativeElement<std::int32_t>{});
    case DataType::kUint32:
      return f(NativeElement<std::uint32_t>{});
    case DataType::kInt64:
      return f(NativeElement<std::int64_t>{});
    case DataType::kUint64:
      return f(NativeElement<std::uint64_t>{});
    case DataType::kFloat16:
      return f(Float16{});
    case DataType::kBfloat16:
      return f(Bfloat16{});
    case DataType::kFloat8E4m3:
      return f(Float8E4m3{});
    case DataType::kFloat8E5m2:
      return f(Float8E5m2{});
    case DataType::kFloat32:
      return f(NativeElement<float>{});
    case DataType::kFloat64:
      return f(NativeElement<double>{});
  }
  throw std::invalid_argument("unknown DataType " + std::to_string(static_cast<int>(type)));
}

// Returns a (op) b in the accumulator type; kAvg adds. Integers wrap. min and max return the
// operand that is not NaN, and the first of two equal ones (+0 and -0 are equal).
template <ReduceOp kOp, class A>
requires std::is_arithmetic_v<A> HOCKNEY_HOST_DEVICE constexpr A Combine(A a, A b) {
  if constexpr (kOp == ReduceOp::kMin) {
    return b < a || (a != a && b == b) ? b : a;
  } else if constexpr (kOp == ReduceOp::kMax) {
    return b > a || (a != a && b == b) ? b : a;
  } else if constexpr (std::is_integral_v<A>) {
    using U = std::make_unsigned_t<A>;  // signed overflow would be undefined
    const U x = static_cast<U>(a);
    const U y = static_cast<U>(b);
    return static_cast<A>(kOp == ReduceOp::kProd ? x * y : x + y);
  } else {
    return kOp == ReduceOp::kProd ? a * b : a + b;
  }
}

// Returns sum / ranks towards zero, the last step of an integer average.
template <std::integral T>
HOCKNEY_HOST_DEVICE constexpr T Divide(T sum, int ranks) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t,
                                  std::uint64_t>;  // `ranks` may not fit in T
  return static_cast<T>(static_cast<Wide>(sum) / static_cast<Wide>(ranks));
}

// The factor of kAvg on floats.
template <std::floating_point A>
HOCKNEY_HOST_DEVICE constexpr A AverageScale(int ranks) {
  return A{1} / static_cast<A>(ranks);
}

}  // namespace hockney
