#include "bench/data_check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "collectives/kernels/scalar.h"

namespace hockney {
namespace {

// Source: SplitMix64's output function, "Fast splittable pseudorandom number generators", OOPSLA
// 2014.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Independent draws for one element; a group or rank draws at the number of its kind plus its own.
constexpr std::uint64_t kUnit = 0;
constexpr std::uint64_t kTotal = 1;
constexpr std::uint64_t kWinner = 2;
constexpr std::uint64_t kMinus = 3;
constexpr std::uint64_t kMembers = 16;
constexpr std::uint64_t kCuts = 32;
constexpr std::uint64_t kFactors = 48;
constexpr std::uint64_t kRanks = 64;

__extension__ using Wide = unsigned __int128;

std::uint64_t Random(const DataSpec& spec, std::uint64_t element, std::uint64_t draw) {
  return Mix(Mix(spec.seed ^ Mix(draw)) + element);
}

// Returns a number below `bound`. Source: Lemire, "Fast random integer generation in an interval",
// ACM TOMACS 29(1).
std::uint64_t Below(std::uint64_t random, std::uint64_t bound) {
  return static_cast<std::uint64_t>(static_cast<Wide>(random) * bound >> 64);
}

template <class E>
struct FloatFormat;
template <>
struct FloatFormat<NativeElement<float>> {
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr std::uint32_t kFirstSpecial = 0x7f800000;
};
template <>
struct FloatFormat<NativeElement<double>> {
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr std::uint64_t kFirstSpecial = 0x7ff0000000000000;
};
template <int kExponent, int kMantissa>
struct FloatFormat<SmallFloat<kExponent, kMantissa>> : SmallFloat<kExponent, kMantissa> {
  static constexpr int kMantissaBits = kMantissa;
};

template <class T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

constexpr double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// The ranks that hold a share of an element: one in each group of neighbouring ranks.
struct Group {
  int index = 0;
  int first = 0;
  int ranks = 0;
};
constexpr int kMostGroups = 8;

int Groups(const DataSpec& spec) { return std::min(spec.ranks, kMostGroups); }

int FirstOfGroup(const DataSpec& spec, int index) {
  return static_cast<int>(static_cast<std::int64_t>(index) * spec.ranks / Groups(spec));
}

Group GroupAt(const DataSpec& spec, int index) {
  const int first = FirstOfGroup(spec, index);
  return {.index = index, .first = first, .ranks = FirstOfGroup(spec, index + 1) - first};
}

Group GroupOf(const DataSpec& spec, int rank) {
  int index = 0;
  while (FirstOfGroup(spec, index + 1) <= rank) ++index;
  return GroupAt(spec, index);
}

int Member(const DataSpec& spec, const Group& group, std::uint64_t element) {
  return group.first +
         static_cast<int>(Below(Random(spec, element, kMembers + group.index), group.ranks));
}

int Winner(const DataSpec& spec, std::uint64_t element) {
  return static_cast<int>(Below(Random(spec, element, kWinner), spec.ranks));
}

void Store(std::byte* to, const auto& value) { std::memcpy(to, &value, sizeof value); }

// Inputs and results of one element type.
template <Element E>
class Data {
 public:
  using Storage = typename E::Storage;

  explicit Data(const DataSpec& spec) : spec_(spec) {}

  // `group` is that of `rank`.
  Storage Input(int rank, const Group& group, std::uint64_t element) const {
    if (!spec_.reduces) return std::bit_cast<Storage>(RankBits(rank, element));
    if (spec_.op == ReduceOp::kMin || spec_.op == ReduceOp::kMax) return Extreme(rank, element);
    if constexpr (kIsFloat) {
      if (spec_.op == ReduceOp::kAvg) {
        return Round(rank == Winner(spec_, element) ? Single(element) : 0.0);
      }
      const bool holds = rank == Member(spec_, group, element);
      if (spec_.op == ReduceOp::kProd) return Round(holds ? Factor(group.index, element) : 1.0);
      return Round(holds ? Unit(element) * Share(group.index, element) + 0.0 : 0.0);  // never -0
    } else {
      const Bits odd =
          spec_.op == ReduceOp::kProd ? 1 : 0;  // an even factor would hide the others' high bits
      return std::bit_cast<Storage>(static_cast<Bits>(RankBits(rank, element) | odd));
    }
  }

  Storage Reduced(std::uint64_t element) const {
    if (spec_.op == ReduceOp::kMin || spec_.op == ReduceOp::kMax) {
      return Extreme(Winner(spec_, element), element);
    }
    if constexpr (kIsFloat) {
      if (spec_.op == ReduceOp::kAvg) {
        return E::Encode(static_cast<A>(Single(element)) * AverageScale<A>(spec_.ranks));
      }
      if (spec_.op == ReduceOp::kSum)
        return Round(Unit(element) * static_cast<double>(Plus(element) - Minus(element)));
      double product = 1.0;
      for (int g = 0; g < Groups(spec_); ++g) product *= Factor(g, element);
      return Round(product);
    } else {
      Storage result = Input(0, {}, element);
      for (int rank = 1; rank < spec_.ranks; ++rank) {
        const Storage next = Input(rank, {}, element);
        result = spec_.op == ReduceOp::kProd ? Combine<ReduceOp::kProd>(result, next)
                                             : Combine<ReduceOp::kSum>(result, next);
      }
      return spec_.op == ReduceOp::kAvg ? Divide(result, spec_.ranks) : result;
    }
  }

 private:
  using A = typename E::Accumulator;
  using Bits = BitsOf<Storage>;
  static constexpr bool kIsFloat = std::is_floating_point_v<A>;
  static constexpr int kBitCount = 8 * sizeof(Storage);

  static Storage Round(double value) { return E::Encode(static_cast<A>(value)); }

  Bits RankBits(int rank, std::uint64_t element) const {
    return static_cast<Bits>(Random(spec_, element, kRanks + rank) >> (64 - kBitCount));
  }

  // A sum is Unit() * (Plus() - Minus()). Every multiple of Unit() up to Plus() is a normal number
  // of the type, and a partial sum lies between those of -Minus() and Plus().
  double Unit(std::uint64_t element) const {
    constexpr int kLeast = 1 - FloatFormat<E>::kBias;
    constexpr int kMost = FloatFormat<E>::kBias - FloatFormat<E>::kMantissaBits;
    const std::uint64_t random = Random(spec_, element, kUnit);
    const double unit = PowerOfTwo(kLeast + static_cast<int>(Below(random, kMost - kLeast + 1)));
    return random % 2 == 0 ? unit : -unit;
  }
  std::uint64_t Plus(std::uint64_t element) const {
    constexpr std::uint64_t kMost = (std::uint64_t{2} << FloatFormat<E>::kMantissaBits) - 1;
    return 1 + Below(Random(spec_, element, kTotal), kMost);
  }
  std::uint64_t Minus(std::uint64_t element) const {  // less than Plus(): no sum is 0
    return Groups(spec_) == 1 ? 0 : Below(Random(spec_, element, kMinus), Plus(element));
  }

  // Every second group shares Plus(), the others -Minus().
  double Share(int group, std::uint64_t element) const {
    const int groups = Groups(spec_);
    const int first_plus =
        groups == 1 ? 0 : static_cast<int>(Random(spec_, element, kUnit) / 2 % 2);
    const bool is_plus = group % 2 == first_plus;
    const int first = is_plus ? first_plus : 1 - first_plus;
    const Division division{.total = is_plus ? Plus(element) : Minus(element),
                            .parts = (groups - first + 1) / 2,
                            .draw = is_plus ? kCuts : kCuts + kMostGroups};
    const auto share = static_cast<double>(Cut(division, group / 2 + 1, element) -
                                           Cut(division, group / 2, element));
    return is_plus ? share : -share;
  }

  // Shares lie between cuts of 0 ... total, one random cut in each stretch of equal length.
  struct Division {
    std::uint64_t total = 0;
    int parts = 1;
    std::uint64_t draw = 0;
  };
  std::uint64_t Cut(const Division& division, int index, std::uint64_t element) const {
    if (index == 0) return 0;
    if (index == division.parts) return division.total;
    const std::uint64_t within =
        Random(spec_, element, division.draw + index) >> 8;  // of a stretch of 2^56
    const std::uint64_t position = (static_cast<std::uint64_t>(index) << 56) + within;
    const auto parts = static_cast<std::uint64_t>(division.parts);
    return static_cast<std::uint64_t>(static_cast<Wide>(position) * division.total / parts >> 56);
  }

  // At most 8 factors: products stay within 2^-8 ... 2^8, exact in every type.
  double Factor(int group, std::uint64_t element) const {
    constexpr std::array kFactor = {1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 2.0, 0.5};
    return kFactor[Random(spec_, element, kFactors + group) % kFactor.size()];
  }

  // A large number with a full significand, so that its average is not a denormal if the type
  // allows.
  double Single(std::uint64_t element) const {
    constexpr int kMost = FloatFormat<E>::kBias - FloatFormat<E>::kMantissaBits;
    const std::uint64_t random = Random(spec_, element, kUnit);
    const std::uint64_t lead = std::uint64_t{1} << FloatFormat<E>::kMantissaBits;
    const double value = static_cast<double>(lead | (Random(spec_, element, kTotal) & (lead - 1))) *
                         PowerOfTwo(kMost - static_cast<int>(random % 4));
    // Negative, one that rounds to zero would be -0 or +0 depending on where it is rounded.
    const bool vanishes =
        E::Decode(E::Encode(static_cast<A>(value) * AverageScale<A>(spec_.ranks))) == A{0};
    return vanishes || random / 4 % 2 == 0 ? value : -value;
  }

  // The winner's value is in the extreme quarter of all keys, the others' are not.
  Storage Extreme(int rank, std::uint64_t element) const {
    constexpr Bits kHalf = static_cast<Bits>(Bits{1} << (kBitCount - 1));
    constexpr Bits kQuarters = static_cast<Bits>(kHalf | kHalf >> 1);
    const Bits key = RankBits(rank, element);
    const Bits extreme = spec_.op == ReduceOp::kMax ? kQuarters : Bits{0};
    if (rank == Winner(spec_, element)) return FromKey((key & ~kQuarters) | extreme);
    return FromKey((key & kQuarters) == extreme ? key ^ kHalf : key);
  }

  // Maps unsigned keys to finite numbers but zero, keeping the order.
  static Storage FromKey(std::uint64_t wide_key) {
    constexpr Bits kHalf = static_cast<Bits>(Bits{1} << (kBitCount - 1));
    const auto key = static_cast<Bits>(wide_key);
    if constexpr (!kIsFloat) {
      return std::bit_cast<Storage>(
          static_cast<Bits>(std::is_signed_v<Storage> ? key ^ kHalf : key));
    } else {
      const bool positive = (key & kHalf) != 0;
      const Bits raw = static_cast<Bits>(positive ? key ^ kHalf : kHalf - 1 - key);
      const Bits magnitude = std::clamp<Bits>(raw, 1, FloatFormat<E>::kFirstSpecial - 1);
      return std::bit_cast<Storage>(static_cast<Bits>(positive ? magnitude : magnitude | kHalf));
    }
  }

  const DataSpec spec_;  // a copy: stores of bytes could otherwise change it
};

std::size_t Elements(DataType type, std::size_t bytes) {
  if (bytes % ElementBytes(type) != 0) {
    throw std::invalid_argument(std::to_string(bytes) +
                                " bytes are no whole number of elements of " +
                                std::string(Name(type)));
  }
  return bytes / ElementBytes(type);
}

// Returns the place of a number in the order of its type; both zeros have the same.
template <Element E>
std::uint64_t Place(typename E::Storage stored) {
  using Bits = BitsOf<typename E::Storage>;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << (8 * sizeof stored - 1);
  const std::uint64_t bits = std::bit_cast<Bits>(stored);
  return bits < kHalf ? kHalf + bits : 2 * kHalf - bits;
}

template <Element E>
bool Agrees(const std::byte* a, const std::byte* b, unsigned ulps) {
  using Storage = typename E::Storage;
  if (std::memcmp(a, b, sizeof(Storage)) == 0) return true;
  if constexpr (std::is_floating_point_v<typename E::Accumulator>) {
    Storage x{};
    Storage y{};
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    const auto is_nan = [](Storage s) { return E::Decode(s) != E::Decode(s); };
    if (ulps == 0 || is_nan(x) || is_nan(y)) return false;
    const std::uint64_t place_x = Place<E>(x);
    const std::uint64_t place_y = Place<E>(y);
    return std::max(place_x, place_y) - std::min(place_x, place_y) <= ulps;
  }
  return false;
}

std::byte GuardByte(std::size_t index) { return static_cast<std::byte>(0xa5 ^ (index * 7 & 0xff)); }

}  // namespace

void FillInput(const DataSpec& spec, int rank, std::uint64_t first_element,
               std::span<std::byte> out) {
  if (rank < 0 || rank >= spec.ranks) {
    throw std::invalid_argument("rank " + std::to_string(rank) + " of " +
                                std::to_string(spec.ranks));
  }
  const std::size_t count = Elements(spec.type, out.size());
  const Group group = GroupOf(spec, rank);
  VisitElement(spec.type, [&]<Element E>(E) {
    const Data<E> data(spec);
    for (std::size_t i = 0; i < count; ++i) {
      Store(&out[i * sizeof(typename E::Storage)], data.Input(rank, group, first_element + i));
    }
  });
}

void ExpectedInput(const DataSpec& spec, int source_rank, std::uint64_t first_element,
                   std::span<std::byte> out) {
  FillInput(spec, source_rank, first_element, out);
}

void ExpectedReduced(const DataSpec& spec, std::uint64_t first_element, std::span<std::byte> out) {
  if (!spec.reduces || spec.ranks < 1) throw std::invalid_argument("no reduction to expect");
  const std::size_t count = Elements(spec.type, out.size());
  VisitElement(spec.type, [&]<Element E>(E) {
    const Data<E> data(spec);
    for (std::size_t i = 0; i < count; ++i) {
      Store(&out[i * sizeof(typename E::Storage)], data.Reduced(first_element + i));
    }
  });
}

void Poison(std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{0xff}); }

void WriteGuard(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = GuardByte(i);
}

bool CheckGuard(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != GuardByte(i)) return false;
  }
  return true;
}

std::uint64_t CountMismatches(std::span<const std::byte> got, std::span<const std::byte> expected,
                              DataType type, unsigned ulps, std::uint64_t* first_bad) {
  if (got.size() != expected.size()) {
    throw std::invalid_argument("got " + std::to_string(got.size()) + " bytes, expected " +
                                std::to_string(expected.size()));
  }
  const std::size_t count = Elements(type, got.size());
  if (got.empty() || std::memcmp(got.data(), expected.data(), got.size()) == 0) return 0;
  return VisitElement(type, [&]<Element E>(E) {
    std::uint64_t bad = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = i * sizeof(typename E::Storage);
      if (Agrees<E>(&got[at], &expected[at], ulps)) continue;
      if (bad++ == 0 && first_bad != nullptr) *first_bad = i;
    }
    return bad;
  });
}

}  // namespace hockney
