// B19 of the project's collection of public cases: a check of sums that is right for 2 and for 1000
// ranks, in every narrow float. hockney's has no tolerance: its data make every partial sum exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/data_check.h"
#include "collectives/kernels/kernels.h"
#include "collectives/kernels/scalar.h"

namespace hockney {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kCount = 4096;
constexpr DataType kNarrow[] = {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8E4m3,
                                DataType::kFloat8E5m2};

// The strictly sequential sum of all ranks' inputs, rounded after each; `change` may alter the part
// of a rank or leave it out (false).
Bytes SequentialSum(const DataSpec& spec,
                    const std::function<bool(int rank, std::span<std::byte> part)>& change) {
  Bytes sum;
  Bytes part(kCount * ElementBytes(spec.type));
  for (int rank = 0; rank < spec.ranks; ++rank) {
    FillInput(spec, rank, 0, part);
    if (!change(rank, part)) continue;
    if (sum.empty()) {
      sum = part;
      continue;
    }
    const std::byte* sources[] = {sum.data(), part.data()};
    std::byte* to = sum.data();
    FindKernel(spec.type, ReduceOp::kSum, StorePolicy::kCached)({.sources = sources,
                                                                 .destinations = &to,
                                                                 .source_count = 2,
                                                                 .destination_count = 1,
                                                                 .count = kCount,
                                                                 .ranks = spec.ranks});
  }
  return sum;
}

// Every element times `factor`, rounded to the type.
void Multiply(DataType type, float factor, std::span<std::byte> part) {
  VisitElement(type, [&]<Element E>(E) {
    using A = typename E::Accumulator;
    for (std::size_t at = 0; at < part.size(); at += sizeof(typename E::Storage)) {
      typename E::Storage stored{};
      std::memcpy(&stored, &part[at], sizeof stored);
      stored = E::Encode(static_cast<A>(E::Decode(stored) * static_cast<A>(factor)));
      std::memcpy(&part[at], &stored, sizeof stored);
    }
  });
}

class RanksTest : public ::testing::TestWithParam<int> {
 protected:
  // Wrong elements of such a sum.
  std::uint64_t Errors(DataType type,
                       const std::function<bool(int rank, std::span<std::byte> part)>& change) {
    const DataSpec spec{.type = type, .op = ReduceOp::kSum, .ranks = GetParam(), .seed = 19};
    Bytes expected(kCount * ElementBytes(type));
    ExpectedReduced(spec, 0, expected);
    return CountMismatches(SequentialSum(spec, change), expected, type);
  }
  int bad_rank() const { return GetParam() / 3; }
};

TEST_P(RanksTest, B19TheRightSumHasNoErrors) {
  for (const DataType type : kNarrow) {
    EXPECT_EQ(Errors(type, [](int, auto) { return true; }), 0U) << Name(type);
  }
}

TEST_P(RanksTest, B19AMissingRankIsCaught) {
  for (const DataType type : kNarrow) {
    EXPECT_GT(Errors(type, [&](int rank, auto) { return rank != bad_rank(); }), 0U) << Name(type);
  }
}

TEST_P(RanksTest, B19AFlippedSignIsCaught) {
  for (const DataType type : kNarrow) {
    const auto flip = [&](int rank, std::span<std::byte> part) {
      if (rank == bad_rank()) Multiply(type, -1.0F, part);
      return true;
    };
    EXPECT_GT(Errors(type, flip), 0U) << Name(type);
  }
}

TEST_P(RanksTest, B19AGainOfFivePercentIsCaught) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8E4m3}) {
    const auto gain = [&](int rank, std::span<std::byte> part) {
      if (rank == bad_rank()) Multiply(type, 1.05F, part);
      return true;
    };
    EXPECT_GT(Errors(type, gain), 0U) << Name(type);
  }
}

// float8_e5m2 has no such gain: 1.05 times any of its numbers rounds back. One step is the least.
TEST_P(RanksTest, B19AGainOfOneStepIsCaught) {
  Bytes codes(256);
  for (int code = 0; code < 256; ++code) codes[code] = std::byte(code);
  Bytes gained = codes;
  Multiply(DataType::kFloat8E5m2, 1.05F, gained);
  for (int code = 0; code < 0x7c; ++code) ASSERT_EQ(gained[code], codes[code]) << code;

  const auto step = [&](int rank, std::span<std::byte> part) {
    for (std::byte& code : part) {
      const bool is_zero = (code & std::byte{0x7f}) == std::byte{0};
      if (rank == bad_rank() && !is_zero) code = std::byte(std::to_integer<int>(code) + 1);
    }
    return true;
  };
  EXPECT_GT(Errors(DataType::kFloat8E5m2, step), 0U);
}

INSTANTIATE_TEST_SUITE_P(PublicCaseTest, RanksTest, ::testing::Values(2, 8, 64, 512, 1000));

// Why the data are not all ones: strictly sequential sums of ones stand still.
template <Element E>
float SequentialSumOfOnes(DataType type, int ranks) {
  typename E::Storage sum = E::Encode(1.0F);
  const typename E::Storage one = sum;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::byte* sources[] = {reinterpret_cast<const std::byte*>(&sum),
                                  reinterpret_cast<const std::byte*>(&one)};
    std::byte* to = reinterpret_cast<std::byte*>(&sum);
    FindKernel(type, ReduceOp::kSum, StorePolicy::kCached)({.sources = sources,
                                                            .destinations = &to,
                                                            .source_count = 2,
                                                            .destination_count = 1,
                                                            .count = 1});
  }
  return E::Decode(sum);
}

TEST(PublicCaseTest, B19SequentialSumsOfOnesStandStill) {
  EXPECT_EQ(SequentialSumOfOnes<Bfloat16>(DataType::kBfloat16, 1000), 256.0F);
  EXPECT_EQ(SequentialSumOfOnes<Float16>(DataType::kFloat16, 4096), 2048.0F);
  EXPECT_EQ(SequentialSumOfOnes<Float8E4m3>(DataType::kFloat8E4m3, 1000), 16.0F);
  EXPECT_EQ(SequentialSumOfOnes<Float8E5m2>(DataType::kFloat8E5m2, 1000), 8.0F);
}

// B06: the data of elements that differ in their upper 32 bits only differ too, so a check finds an
// index that was cut to 32 bits.
TEST(PublicCaseTest, B06DataBeyond32BitsAreNotThoseOfTheCutIndex) {
  for (const DataType type : {DataType::kInt8, DataType::kFloat32}) {
    for (const bool reduces : {true, false}) {
      const DataSpec spec{.type = type, .reduces = reduces, .ranks = 2, .seed = 6};
      const std::uint64_t above = (std::uint64_t{1} << 32) / ElementBytes(type);
      Bytes low(64 * ElementBytes(type));
      Bytes high = low;
      FillInput(spec, 1, 0, low);
      for (const std::uint64_t first : {above, std::uint64_t{1} << 32, std::uint64_t{1} << 40}) {
        FillInput(spec, 1, first, high);
        EXPECT_GT(CountMismatches(high, low, type), 32U) << Name(type);
      }
    }
  }
}

}  // namespace
}  // namespace hockney
