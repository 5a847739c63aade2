#include "collectives/kernels/kernels.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "collectives/kernels/scalar.h"

namespace hockney {
namespace {

constexpr std::byte kGuard{0xa5};
constexpr std::size_t kGuardBytes = 64;
constexpr std::array<std::size_t, 15> kCounts = {0,  1,  2,  3,  7,   15,   16,  17,
                                                 31, 63, 64, 65, 127, 1000, 4099};

// Calls f with each compiled target that this machine has chosen in turn.
template <class F>
void ForEachTarget(F f) {
  std::set<std::string> seen;
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    if (seen.insert(KernelTarget()).second) {
      SCOPED_TRACE(KernelTarget());
      f();
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GE(seen.size(), supported == (supported & -supported) ? 1u : 2u);
}

// Random bits with a share of zeros, infinities, NaNs and denormals far above their natural one.
void FillRandom(DataType type, std::mt19937_64& random, std::vector<std::byte>& bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, std::min(sizeof word, bytes.size() - i));
  }
  if (!IsFloat(type)) return;
  VisitElement(type, [&]<Element E>(E) {
    using A = std::conditional_t<std::is_same_v<typename E::Accumulator, double>, double, float>;
    using Limits = std::numeric_limits<A>;
    const std::array<A, 6> special = {A{0},
                                      -A{0},
                                      Limits::infinity(),
                                      -Limits::infinity(),
                                      Limits::quiet_NaN(),
                                      -Limits::denorm_min()};
    for (std::size_t i = 0; i + sizeof(typename E::Storage) <= bytes.size();
         i += sizeof(typename E::Storage)) {
      const std::uint64_t draw = random();
      if (draw % 8 != 0) continue;
      if constexpr (std::is_floating_point_v<typename E::Accumulator>) {
        const typename E::Storage stored = E::Encode(special[draw / 8 % special.size()]);
        std::memcpy(&bytes[i], &stored, sizeof stored);
      }
    }
  });
}

// One case: operands at odd offsets in guarded buffers.
struct Case {
  DataType type = DataType::kInt8;
  ReduceOp op = ReduceOp::kSum;
  std::size_t sources = 1;
  std::size_t count = 0;
  bool aligned = false;  // to the element: the only way to streaming stores
  std::vector<std::vector<std::byte>> inputs = {};
  std::vector<std::uint8_t> scaled = {};
  std::vector<std::byte> expected = {};
};

KernelArgs Arguments(const Case& c) {
  KernelArgs args;
  args.scaled = c.scaled.empty() ? nullptr : c.scaled.data();
  args.source_count = c.sources;
  args.count = c.count;
  args.ranks = 7;
  args.divide = c.op == ReduceOp::kAvg;
  return args;
}

std::size_t Offset(const Case& c, std::size_t index) {
  return c.aligned ? 8 * (5 * index + 1) % 64 : 2 * index + 1;
}

// in_place: the source that is also destination 0, or -1.
void CheckFast(const Case& c, StorePolicy store, std::size_t destinations, int in_place) {
  const std::size_t bytes = c.count * ElementBytes(c.type);
  std::vector<std::vector<std::byte>> inputs = c.inputs;
  std::vector<const std::byte*> from;
  for (std::size_t s = 0; s < c.sources; ++s) from.push_back(&inputs[s][Offset(c, s)]);
  std::vector<std::vector<std::byte>> outputs(destinations);
  std::vector<std::byte*> to;
  for (std::size_t d = 0; d < destinations; ++d) {
    outputs[d].assign(bytes + 3 * kGuardBytes, kGuard);
    std::byte* line = &outputs[d][kGuardBytes];
    line += -reinterpret_cast<std::uintptr_t>(line) % kGuardBytes;  // 0 and 2 agree, 1 does not
    to.push_back(line + Offset(c, d % 2));
  }
  if (in_place >= 0) to[0] = &inputs[in_place][Offset(c, in_place)];
  KernelArgs args = Arguments(c);
  args.sources = from.data();
  args.destinations = to.data();
  args.destination_count = destinations;
  FindKernel(c.type, c.op, store)(args);

  for (std::size_t d = 0; d < destinations; ++d) {
    ASSERT_EQ(std::memcmp(to[d], c.expected.data(), bytes), 0) << "destination " << d;
    if (d == 0 && in_place >= 0) continue;
    const std::byte* begin = outputs[d].data();
    const auto is_guard = [](std::byte byte) { return byte == kGuard; };
    ASSERT_TRUE(std::all_of<const std::byte*>(begin, to[d], is_guard));
    ASSERT_TRUE(std::all_of<const std::byte*>(to[d] + bytes, begin + outputs[d].size(), is_guard));
  }
  for (std::size_t s = 0; s < c.sources; ++s) {
    if (static_cast<int>(s) == in_place) {
      std::memcpy(&inputs[s][Offset(c, s)], &c.inputs[s][Offset(c, s)], bytes);
    }
    ASSERT_EQ(inputs[s], c.inputs[s]) << "source " << s;
  }
}

void CheckCase(const Case& c) {
  for (const StorePolicy store : {StorePolicy::kCached, StorePolicy::kNonTemporal}) {
    for (const std::size_t destinations : {1, 2, 3}) {
      const int last = static_cast<int>(c.sources) - 1;
      for (const int in_place : {-1, 0, last}) {
        CheckFast(c, store, destinations, in_place);
        if (testing::Test::HasFatalFailure()) {
          FAIL() << Name(c.type) << ' ' << Name(c.op) << " sources " << c.sources << " count "
                 << c.count << " store " << static_cast<int>(store) << " destinations "
                 << destinations << " in place " << in_place << " aligned " << c.aligned;
        }
      }
    }
  }
}

Case MakeCase(DataType type, ReduceOp op, std::size_t sources, std::size_t count) {
  std::mt19937_64 random(count * 8 + sources);
  Case c{.type = type, .op = op, .sources = sources, .count = count};
  c.aligned = random() % 2 == 0;
  const std::size_t bytes = count * ElementBytes(type);
  std::vector<const std::byte*> from;
  for (std::size_t s = 0; s < sources; ++s) {
    std::vector<std::byte> values(bytes);
    FillRandom(type, random, values);
    c.inputs.emplace_back(bytes + kGuardBytes, kGuard);
    if (bytes != 0) std::memcpy(&c.inputs[s][Offset(c, s)], values.data(), bytes);
    from.push_back(&c.inputs[s][Offset(c, s)]);
    if (op == ReduceOp::kAvg) c.scaled.push_back(random() % 2);
  }
  c.expected.assign(bytes + 1, kGuard);
  std::byte* to = c.expected.data();
  KernelArgs args = Arguments(c);
  args.sources = from.data();
  args.destinations = &to;
  args.destination_count = 1;
  ReferenceKernel(type, op, args);
  return c;
}

class KernelsTest : public testing::TestWithParam<DataType> {};

TEST_P(KernelsTest, EqualTheReferenceBitForBit) {
  for (const ReduceOp op : kAllReduceOps) {
    for (const std::size_t sources : {1, 2, 3, 5, 8}) {
      for (const std::size_t count : kCounts) {
        const Case c = MakeCase(GetParam(), op, sources, count);
        ForEachTarget([&] { CheckCase(c); });
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(KernelsTest, CopyKeepsEveryBit) {
  for (const StorePolicy store : {StorePolicy::kCached, StorePolicy::kNonTemporal}) {
    std::vector<std::byte> input(3 * 65536 + 8 * 13), output(input.size());
    std::mt19937_64 random(1);
    FillRandom(GetParam(), random, input);
    const std::byte* from = input.data();
    std::byte* to = output.data();
    FindKernel(GetParam(), ReduceOp::kMax,
               store)({.sources = &from,
                       .destinations = &to,
                       .source_count = 1,
                       .destination_count = 1,
                       .count = input.size() / ElementBytes(GetParam())});
    EXPECT_EQ(input, output);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, KernelsTest, testing::ValuesIn(kAllDataTypes),
                         [](const auto& type) { return std::string(Name(type.param)); });

// Reduces two elements with the fast kernel.
template <class T>
T Pair(DataType type, ReduceOp op, T a, T b) {
  const std::byte* from[] = {reinterpret_cast<const std::byte*>(&a),
                             reinterpret_cast<const std::byte*>(&b)};
  T result{};
  std::byte* to = reinterpret_cast<std::byte*>(&result);
  FindKernel(type, op, StorePolicy::kCached)({.sources = from,
                                              .destinations = &to,
                                              .source_count = 2,
                                              .destination_count = 1,
                                              .count = 1,
                                              .ranks = 2,
                                              .divide = true});
  return result;
}

TEST(KernelsTest, AverageOfIntegersDividesTowardsZero) {
  EXPECT_EQ(Pair<std::int32_t>(DataType::kInt32, ReduceOp::kAvg, -3, -4), -3);
  EXPECT_EQ(Pair<std::int8_t>(DataType::kInt8, ReduceOp::kAvg, 3, 4), 3);
  EXPECT_EQ(Pair<std::uint64_t>(DataType::kUint64, ReduceOp::kAvg, ~0ull, 0), ~0ull / 2);
  EXPECT_EQ(Pair<std::int32_t>(DataType::kInt32, ReduceOp::kSum, -3, -4), -7);  // only kAvg divides
}

TEST(KernelsTest, MinAndMaxSkipNanAndKeepTheFirstZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    EXPECT_EQ(Pair(DataType::kFloat32, op, nan, 1.0f), 1.0f);
    EXPECT_EQ(Pair(DataType::kFloat32, op, 1.0f, nan), 1.0f);
    EXPECT_TRUE(std::isnan(Pair(DataType::kFloat32, op, nan, nan)));
    EXPECT_TRUE(std::signbit(Pair(DataType::kFloat32, op, -0.0f, 0.0f)));
    EXPECT_FALSE(std::signbit(Pair(DataType::kFloat32, op, 0.0f, -0.0f)));
  }
}

TEST(KernelsTest, Float8SumsOfAllPairsDoNotDependOnTheirPosition) {
  std::vector<std::uint8_t> a, b;
  for (int i = 0; i < 65536; ++i) {
    a.push_back(static_cast<std::uint8_t>(i));
    b.push_back(static_cast<std::uint8_t>(i >> 8));
  }
  ForEachTarget([&] {
    const Kernel kernel = FindKernel(DataType::kFloat8E4m3, ReduceOp::kSum, StorePolicy::kCached);
    const auto reduce = [&](std::size_t at, std::size_t count, std::uint8_t* result) {
      const std::byte* from[] = {reinterpret_cast<const std::byte*>(&a[at]),
                                 reinterpret_cast<const std::byte*>(&b[at])};
      std::byte* to = reinterpret_cast<std::byte*>(result);
      kernel({.sources = from,
              .destinations = &to,
              .source_count = 2,
              .destination_count = 1,
              .count = count});
    };
    std::vector<std::uint8_t> together(a.size());
    reduce(0, a.size(), together.data());
    for (std::size_t i = 0; i + 3 <= a.size(); ++i) {
      const float sum = Float8E4m3::Decode(a[i]) + Float8E4m3::Decode(b[i]);
      ASSERT_EQ(together[i], Float8E4m3::Encode(sum)) << i;
      for (const std::size_t count : {1, 2, 3}) {
        std::uint8_t few[3] = {};
        reduce(i, count, few);
        ASSERT_EQ(std::memcmp(few, &together[i], count), 0) << i;
      }
    }
  });
}

// Sums `terms` ones, rounding after each.
template <Element E>
float SumOfOnes(DataType type, int terms) {
  typename E::Storage sum = E::Encode(1.0f);
  for (int i = 1; i < terms; ++i) sum = Pair(type, ReduceOp::kSum, sum, E::Encode(1.0f));
  return E::Decode(sum);
}

TEST(KernelsTest, EachPassRoundsToTheType) {
  EXPECT_EQ(SumOfOnes<Bfloat16>(DataType::kBfloat16, 1000), 256.0f);
  EXPECT_EQ(SumOfOnes<Float16>(DataType::kFloat16, 4096), 2048.0f);
}

TEST(KernelsTest, UnknownEnumeratorsAreRejected) {
  EXPECT_THROW(FindKernel(DataType{99}, ReduceOp::kSum, StorePolicy::kCached),
               std::invalid_argument);
  EXPECT_THROW(FindKernel(DataType::kInt8, ReduceOp{99}, StorePolicy::kCached),
               std::invalid_argument);
}

template <Element E>
void CheckRoundTrip() {
  for (std::uint32_t code = 0; code < 1u << E::kBits; ++code) {
    const auto stored = static_cast<typename E::Storage>(code);
    const float value = E::Decode(stored);
    if (std::isnan(value)) {
      ASSERT_EQ(E::Encode(value), E::kNan) << code;
    } else if (std::isinf(value) && E::kBits == 8) {
      ASSERT_EQ(E::Encode(value), (code & E::kSign) | E::kOverflow) << code;
    } else {
      ASSERT_EQ(E::Encode(value), stored) << code;
    }
  }
}

TEST(ScalarTest, EveryNumberSurvivesDecodeAndEncode) {
  CheckRoundTrip<Float16>();
  CheckRoundTrip<Bfloat16>();
  CheckRoundTrip<Float8E4m3>();
  CheckRoundTrip<Float8E5m2>();
}

// Halfway between two neighbours goes to the even one, and a little to either side to the nearer
// one.
template <Element E>
void CheckRounding() {
  for (std::uint32_t code = 0; code + 1 < E::kFirstSpecial; ++code) {
    const float low = E::Decode(static_cast<typename E::Storage>(code));
    const float high = E::Decode(static_cast<typename E::Storage>(code + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(E::Encode(middle), code + code % 2) << code;
    ASSERT_EQ(E::Encode(std::nextafter(middle, low)), code) << code;
    ASSERT_EQ(E::Encode(std::nextafter(middle, high)), code + 1) << code;
    ASSERT_EQ(E::Encode(-middle), (code + code % 2) | E::kSign) << code;
  }
}

TEST(ScalarTest, EncodeRoundsToNearestEven) {
  CheckRounding<Float16>();
  CheckRounding<Bfloat16>();
  CheckRounding<Float8E4m3>();
  CheckRounding<Float8E5m2>();
}

TEST(ScalarTest, OverflowFollowsTheFormat) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Float8E4m3::Decode(0x7e), 448.0f);
  EXPECT_EQ(Float8E5m2::Decode(0x7b), 57344.0f);
  EXPECT_EQ(Float8E4m3::Encode(448.0f + 18.0f), 0x7e);
  EXPECT_EQ(Float8E5m2::Encode(57344.0f + 4096.0f), 0x7b);
  EXPECT_EQ(Float8E4m3::Encode(-inf), 0xfe);
  EXPECT_EQ(Float8E5m2::Encode(inf), 0x7b);
  EXPECT_EQ(Float16::Encode(65520.0f), 0x7c00);
  EXPECT_EQ(Float16::Encode(65519.0f), 0x7bff);
  EXPECT_EQ(Bfloat16::Encode(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(Bfloat16::Encode(-inf), 0xff80);
}

}  // namespace
}  // namespace hockney
