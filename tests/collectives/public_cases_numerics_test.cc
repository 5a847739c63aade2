// Reports of results that depend on what they must not depend on (B21, B24: numbers of the
// project's collection of public cases). tests/bench has the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/collectives/exact_call.h"
#include "tests/collectives/executor_cases.h"

namespace hockney {
namespace {

using testing::ExactCall;
using testing::ForEachVariant;
using testing::RunExactly;
using Codes = std::vector<std::uint8_t>;

// An 8-bit float format, stated here apart from the code under test: the value of a code, and the
// code of a value by looking at all. Source: "OCP 8-bit Floating Point Specification (OFP8)", 1.0.
class Format {
 public:
  Format(int mantissa_bits, int bias, int finite_codes)
      : mantissa_bits_(mantissa_bits), bias_(bias) {
    for (int code = 0; code < finite_codes; ++code) values_.push_back(ValueOf(code));
  }

  // Of any code; beyond the finite ones e4m3 has NaN only, e5m2 infinity and NaN.
  double Decode(int code) const {
    const int magnitude = code & 0x7f;
    const double sign = code >= 0x80 ? -1 : 1;
    if (magnitude < static_cast<int>(values_.size())) return sign * values_[magnitude];
    const bool is_infinity = magnitude == 0x7c && mantissa_bits_ == 2;
    return is_infinity ? sign * INFINITY : NAN;
  }

  // The nearest finite code, ties to the even one, saturating; one NaN.
  int Encode(double value) const {
    if (std::isnan(value)) return 0x7f;
    const int sign = std::signbit(value) ? 0x80 : 0;
    const double magnitude = std::abs(value);
    if (magnitude >= values_.back()) return sign | static_cast<int>(values_.size() - 1);
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    const int high = static_cast<int>(above - values_.begin());
    const double to_low = magnitude - values_[high - 1];
    const double to_high = *above - magnitude;
    const bool takes_low = to_low < to_high || (to_low == to_high && high % 2 == 1);
    return sign | (takes_low ? high - 1 : high);
  }

 private:
  double ValueOf(int code) const {
    const int exponent = code >> mantissa_bits_;
    const double fraction = code & ((1 << mantissa_bits_) - 1);
    const double unit = std::ldexp(1.0, -mantissa_bits_);
    if (exponent == 0) return std::ldexp(fraction * unit, 1 - bias_);
    return std::ldexp(1 + fraction * unit, exponent - bias_);
  }

  int mantissa_bits_;
  int bias_;
  std::vector<double> values_;  // of the finite codes without sign, ascending
};

Format FormatOf(DataType type) {
  return type == DataType::kFloat8E4m3 ? Format(3, 7, 0x7f) : Format(2, 15, 0x7c);
}

// Every algorithm's sum of two ranks' elements.
void ExpectSum(DataType type, const Codes& a, const Codes& b, const Codes& sum) {
  ForEachVariant(Collective::kAllReduce, [&](ExactCall call) {
    call.type = type;
    call.counts = EvenCounts({Collective::kAllReduce, 2, 0}, a.size());
    EXPECT_EQ(RunExactly<std::uint8_t>(call, {a, b}, {sum, sum}), "");
  });
}

// B21: float8 saturates; nothing turns into NaN or infinity.
TEST(PublicCaseTest, B21Float8SumsAboveTheLargestNumberSaturate) {
  for (const std::size_t count : {1, 2, 3}) {
    const auto repeat = [&](int code) { return Codes(count, static_cast<std::uint8_t>(code)); };
    // 448 + 18 = 448
    ExpectSum(DataType::kFloat8E4m3, repeat(0x7e), repeat(0x59), repeat(0x7e));
    ExpectSum(DataType::kFloat8E4m3, repeat(0xfe), repeat(0xd9), repeat(0xfe));
    // 57344 + 4096 = 57344
    ExpectSum(DataType::kFloat8E5m2, repeat(0x7b), repeat(0x6c), repeat(0x7b));
    ExpectSum(DataType::kFloat8E5m2, repeat(0xfb), repeat(0xec), repeat(0xfb));
  }
}

TEST(PublicCaseTest, B21SumsOfAllFloat8PairsAreTheNearestNumber) {
  for (const DataType type : {DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    const Format format = FormatOf(type);
    Codes a(65536);
    Codes b(65536);
    Codes sum(65536);
    for (int i = 0; i < 65536; ++i) {
      a[i] = static_cast<std::uint8_t>(i % 256);
      b[i] = static_cast<std::uint8_t>(i / 256);
      sum[i] = static_cast<std::uint8_t>(format.Encode(format.Decode(a[i]) + format.Decode(b[i])));
    }
    ExpectSum(type, a, b, sum);
  }
}

// An element's result does not depend on where it lies or how many lie beside it.
TEST(PublicCaseTest, B21AFloat8ResultDoesNotDependOnItsPlace) {
  for (const DataType type : {DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    const Format format = FormatOf(type);
    for (const std::size_t count : {1, 2, 3, 15, 16, 17, 63, 65, 127, 129, 130}) {
      Codes a(count);
      Codes b(count);
      Codes sum(count);
      for (std::size_t i = 0; i < count; ++i) {
        a[i] = static_cast<std::uint8_t>(0x35 + i % 7);
        b[i] = static_cast<std::uint8_t>(0xb0 + i % 5);
        const double exact = format.Decode(a[i]) + format.Decode(b[i]);
        sum[i] = static_cast<std::uint8_t>(format.Encode(exact));
      }
      ExpectSum(type, a, b, sum);
    }
  }
}

// B24: all ranks hold the same bits, in every repetition. Random numbers, so that the order of the
// additions shows.
class SameBitsTest : public ::testing::TestWithParam<int> {};

TEST_P(SameBitsTest, B24AllRanksAndRepetitionsAgree) {
  constexpr int kRepetitions = 20;
  const int ranks = GetParam();
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBfloat16}) {
    ForEachVariant(Collective::kAllReduce, [&](ExactCall call) {
      if (call.protocol == Protocol::kLl && type != DataType::kFloat32) return;
      call.type = type;
      call.counts = EvenCounts({Collective::kAllReduce, ranks, 0}, 1031);
      call.calls = kRepetitions;
      std::vector<std::vector<std::size_t>> hashes(ranks);
      ASSERT_EQ(RunExactly(
                    call,
                    [&](int rank, std::span<std::byte> input) {
                      testing::FillFinite(type, 7 + static_cast<std::uint64_t>(rank), input);
                    },
                    [&](int rank, std::span<const std::byte> output) {
                      const auto* const text = reinterpret_cast<const char*>(output.data());
                      hashes[rank].push_back(std::hash<std::string_view>{}({text, output.size()}));
                      return "";
                    }),
                "");
      EXPECT_EQ(hashes[0], std::vector(kRepetitions, hashes[0][0])) << call.row->name;
      EXPECT_EQ(hashes, std::vector(ranks, hashes[0])) << call.row->name;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(PublicCaseTest, SameBitsTest, ::testing::Values(3, 5, 6, 7, 12));

}  // namespace
}  // namespace hockney
