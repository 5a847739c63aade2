#include "bench/data_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/kernels/kernels.h"
#include "collectives/kernels/scalar.h"

namespace hockney {
namespace {

using Bytes = std::vector<std::byte>;

// A rank's input, or the reduction of some.
struct Part {
  Bytes bytes = {};
  bool fresh = true;  // an input, not yet scaled
};

using Reduce = std::function<void(const KernelArgs&)>;

Reduce Reference(const DataSpec& spec) {
  return [=](const KernelArgs& args) { ReferenceKernel(spec.type, spec.op, args); };
}

// Replaces `into` by into (op) from, rounded to the type. `last`: nothing follows.
void Join(const DataSpec& spec, const Reduce& reduce, const Part& from, Part& into, bool last) {
  const std::byte* sources[] = {into.bytes.data(), from.bytes.data()};
  const std::uint8_t scaled[] = {into.fresh, from.fresh};
  std::byte* destination = into.bytes.data();
  reduce({.sources = sources,
          .scaled = scaled,
          .destinations = &destination,
          .source_count = 2,
          .destination_count = 1,
          .count = into.bytes.size() / ElementBytes(spec.type),
          .ranks = spec.ranks,
          .divide = last});
  into.fresh = false;
}

std::vector<Part> Inputs(const DataSpec& spec, std::size_t count) {
  std::vector<Part> parts(spec.ranks);
  for (int rank = 0; rank < spec.ranks; ++rank) {
    parts[rank].bytes.resize(count * ElementBytes(spec.type));
    FillInput(spec, rank, 0, parts[rank].bytes);
  }
  return parts;
}

Bytes Expected(const DataSpec& spec, std::size_t count) {
  Bytes expected(count * ElementBytes(spec.type));
  ExpectedReduced(spec, 0, expected);
  return expected;
}

// Reduces in the order of `order`, each result going on to the next.
Bytes Chain(const DataSpec& spec, const Reduce& reduce, const std::vector<const Part*>& order) {
  Part sum = *order[0];
  for (std::size_t i = 1; i < order.size(); ++i) {
    Join(spec, reduce, *order[i], sum, i + 1 == order.size());
  }
  return sum.bytes;
}

std::vector<const Part*> InOrder(const std::vector<Part>& parts) {
  std::vector<const Part*> order;
  order.reserve(parts.size());
  for (const Part& part : parts) order.push_back(&part);
  return order;
}

Bytes RandomTree(const DataSpec& spec, std::vector<Part> parts) {
  std::mt19937_64 random(spec.seed);
  while (parts.size() > 1) {
    std::swap(parts[random() % parts.size()], parts.back());
    const Part from = std::move(parts.back());
    parts.pop_back();
    Join(spec, Reference(spec), from, parts[random() % parts.size()], parts.size() == 1);
  }
  return parts[0].bytes;
}

class DataCheckTest : public testing::TestWithParam<std::tuple<DataType, int>> {
 protected:
  DataSpec Spec(ReduceOp op) const {
    return {
        .type = std::get<0>(GetParam()), .op = op, .ranks = std::get<1>(GetParam()), .seed = 42};
  }
};

TEST_P(DataCheckTest, EveryOrderGivesTheExpectedBits) {
  constexpr std::size_t kCount = 257;
  for (const ReduceOp op : kAllReduceOps) {
    SCOPED_TRACE(Name(op));
    const DataSpec spec = Spec(op);
    const std::vector<Part> parts = Inputs(spec, kCount);
    std::vector<const Part*> order = InOrder(parts);
    const Bytes expected = Expected(spec, kCount);
    const Reduce reduce = Reference(spec);
    EXPECT_EQ(CountMismatches(Chain(spec, reduce, order), expected, spec.type), 0u);
    std::reverse(order.begin(), order.end());
    EXPECT_EQ(CountMismatches(Chain(spec, reduce, order), expected, spec.type), 0u);
    EXPECT_EQ(CountMismatches(RandomTree(spec, parts), expected, spec.type), 0u);
    if (spec.ranks > 64) continue;
    std::vector<const std::byte*> sources;  // all in one pass, rounded once
    sources.reserve(parts.size());
    for (const Part& part : parts) sources.push_back(part.bytes.data());
    const std::vector<std::uint8_t> scaled(sources.size(), 1);
    Bytes got(expected.size());
    std::byte* destination = got.data();
    reduce({.sources = sources.data(),
            .scaled = scaled.data(),
            .destinations = &destination,
            .source_count = sources.size(),
            .destination_count = 1,
            .count = kCount,
            .ranks = spec.ranks,
            .divide = true});
    EXPECT_EQ(CountMismatches(got, expected, spec.type), 0u);
  }
}

TEST_P(DataCheckTest, FloatResultsAreNeverZeroOrSpecial) {
  for (const ReduceOp op : kAllReduceOps) {
    const DataSpec spec = Spec(op);
    const Bytes expected = Expected(spec, 4096);
    VisitElement(spec.type, [&]<Element E>(E) {
      if constexpr (std::is_floating_point_v<typename E::Accumulator>) {
        for (std::size_t i = 0; i < expected.size(); i += sizeof(typename E::Storage)) {
          typename E::Storage stored;
          std::memcpy(&stored, &expected[i], sizeof stored);
          const auto value = E::Decode(stored);
          ASSERT_EQ(value - value, 0) << Name(op);
          // The average of float8 over 1000 ranks may vanish: 1.25 / 1000 is below the least e4m3
          // number.
          if (op != ReduceOp::kAvg || sizeof stored > 1) {
            ASSERT_NE(value, 0) << Name(op);
          }
        }
      }
    });
  }
}

enum class Fault { kDropped, kDoubled, kNegated, kStale, kGained };

// Whether a fault can change the result at all.
bool Shows(const DataSpec& spec, Fault fault) {
  const bool orders = spec.op == ReduceOp::kMin || spec.op == ReduceOp::kMax;
  if (fault == Fault::kDoubled && orders) return false;  // idempotent
  // A gain of 5% is less than half a step of float8, and integers have no gain.
  if (fault == Fault::kGained && (!IsFloat(spec.type) || ElementBytes(spec.type) == 1))
    return false;
  // An 8-bit sum divided by more than 255 is always 0.
  return !(spec.op == ReduceOp::kAvg && !IsFloat(spec.type) && ElementBytes(spec.type) == 1 &&
           spec.ranks > 255);
}

template <Element E>
void Corrupt(Bytes& bytes, Fault fault) {
  using Storage = typename E::Storage;
  using A = typename E::Accumulator;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(Storage)) {
    Storage stored;
    std::memcpy(&stored, &bytes[i], sizeof stored);
    A value = E::Decode(stored);
    if constexpr (std::is_floating_point_v<A>) {
      value = fault == Fault::kNegated ? -value : value * static_cast<A>(1.05);
    } else {
      value = static_cast<A>(std::uint64_t{0} - static_cast<std::uint64_t>(value));
    }
    stored = E::Encode(value);
    std::memcpy(&bytes[i], &stored, sizeof stored);
  }
}

// Reduces with the fast kernels, rank `bad` being at fault.
Bytes ReduceWithFault(const DataSpec& spec, const std::vector<Part>& parts, int bad,
                      std::optional<Fault> fault) {
  Part wrong = parts[bad];
  if (fault == Fault::kStale) {
    DataSpec old = spec;
    --old.seed;
    FillInput(old, bad, 0, wrong.bytes);
  } else if (fault == Fault::kNegated || fault == Fault::kGained) {
    VisitElement(spec.type, [&]<Element E>(E) { Corrupt<E>(wrong.bytes, *fault); });
  }
  std::vector<const Part*> order = InOrder(parts);
  order[bad] = &wrong;
  if (fault == Fault::kDoubled) order.insert(order.begin() + bad, &wrong);
  Part none{.bytes = Bytes(wrong.bytes.size())};
  if (fault == Fault::kDropped) {
    order.erase(order.begin() + bad);
    if (order.size() == 1)
      order.push_back(spec.op == ReduceOp::kSum || spec.op == ReduceOp::kAvg ? &none : order[0]);
  }
  return Chain(spec, FindKernel(spec.type, spec.op, StorePolicy::kCached), order);
}

TEST_P(DataCheckTest, AFaultyRankIsCaught) {
  constexpr std::size_t kCount = 4096;
  for (const ReduceOp op : kAllReduceOps) {
    SCOPED_TRACE(Name(op));
    const DataSpec spec = Spec(op);
    const std::vector<Part> parts = Inputs(spec, kCount);
    const Bytes expected = Expected(spec, kCount);
    const int bad = spec.ranks / 2;
    EXPECT_EQ(CountMismatches(ReduceWithFault(spec, parts, bad, std::nullopt), expected, spec.type),
              0u);
    for (const Fault fault :
         {Fault::kDropped, Fault::kDoubled, Fault::kNegated, Fault::kStale, Fault::kGained}) {
      if (!Shows(spec, fault)) continue;
      const Bytes got = ReduceWithFault(spec, parts, bad, fault);
      EXPECT_GT(CountMismatches(got, expected, spec.type), 0u)
          << "fault " << static_cast<int>(fault);
    }
  }
}

TEST_P(DataCheckTest, AnyPartOfABufferIsTheSame) {
  for (const ReduceOp op : kAllReduceOps) {
    DataSpec spec = Spec(op);
    const std::size_t element = ElementBytes(spec.type);
    for (const bool reduces : {true, false}) {
      spec.reduces = reduces;
      Bytes whole(100 * element);
      Bytes part(10 * element);
      const std::uint64_t far = std::uint64_t{1} << 40;
      FillInput(spec, spec.ranks - 1, far, whole);
      ExpectedInput(spec, spec.ranks - 1, far + 77, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 77 * element));
    }
  }
}

std::string CaseName(const testing::TestParamInfo<std::tuple<DataType, int>>& test) {
  return std::string(Name(std::get<0>(test.param))) + "_" + std::to_string(std::get<1>(test.param));
}
INSTANTIATE_TEST_SUITE_P(Types, DataCheckTest,
                         testing::Combine(testing::ValuesIn(kAllDataTypes),
                                          testing::Values(2, 8, 64, 1000)),
                         CaseName);

TEST(DataTest, OneRankReducesToItsInput) {
  for (const DataType type : kAllDataTypes) {
    for (const ReduceOp op : kAllReduceOps) {
      const DataSpec spec{.type = type, .op = op, .ranks = 1, .seed = 3};
      EXPECT_EQ(Inputs(spec, 100)[0].bytes, Expected(spec, 100)) << Name(type) << Name(op);
    }
  }
}

TEST(DataTest, MovedDataDifferByRankSeedAndPlace) {
  const DataSpec spec{.type = DataType::kInt32, .reduces = false, .ranks = 4, .seed = 1};
  DataSpec next = spec;
  next.seed = 2;
  Bytes a(4096), b(4096), c(4096), d(4096);
  FillInput(spec, 0, 0, a);
  FillInput(spec, 1, 0, b);
  FillInput(next, 0, 0, c);
  FillInput(spec, 0, 1, d);
  for (const Bytes& other : {b, c, d}) {
    EXPECT_GT(CountMismatches(a, other, DataType::kInt32), 1000u);
  }
}

TEST(DataTest, PoisonIsNeverExpected) {
  for (const DataType type : kAllDataTypes) {
    const DataSpec spec{.type = type, .ranks = 8, .seed = 5};
    const Bytes expected = Expected(spec, 4096);
    Bytes poisoned(expected.size());
    Poison(poisoned);
    EXPECT_GT(CountMismatches(poisoned, expected, type), IsFloat(type) ? 4095u : 4000u);
  }
}

TEST(DataTest, GuardsNoticeOneByte) {
  Bytes guard(64);
  EXPECT_FALSE(CheckGuard(guard));
  WriteGuard(guard);
  EXPECT_TRUE(CheckGuard(guard));
  guard[63] ^= std::byte{1};
  EXPECT_FALSE(CheckGuard(guard));
}

TEST(DataTest, UlpsCountNeighbouringFloats) {
  const std::vector<float> a = {1.0f, 0.0f, 1.0f, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> b = {std::nextafter(1.0f, 2.0f), -0.0f, 1.1f, 1.0f};
  const auto bytes_a = std::as_bytes(std::span(a));
  const auto bytes_b = std::as_bytes(std::span(b));
  std::uint64_t first = 99;
  EXPECT_EQ(CountMismatches(bytes_a, bytes_b, DataType::kFloat32, 0, &first), 4u);
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(CountMismatches(bytes_a, bytes_b, DataType::kFloat32, 1, &first), 2u);
  EXPECT_EQ(first, 2u);
  EXPECT_EQ(CountMismatches(bytes_a, bytes_b, DataType::kInt32, 1), 4u);  // integers are exact
}

TEST(DataTest, RejectsWrongArguments) {
  Bytes bytes(10);
  const DataSpec spec{.ranks = 2};
  EXPECT_THROW(FillInput(spec, 0, 0, bytes), std::invalid_argument);
  EXPECT_THROW(FillInput(spec, 2, 0, std::span(bytes).first(8)), std::invalid_argument);
  EXPECT_THROW(
      static_cast<void>(CountMismatches(bytes, std::span(bytes).first(8), DataType::kInt8)),
      std::invalid_argument);
}

}  // namespace
}  // namespace hockney
