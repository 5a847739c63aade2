#include "tuner/training/ddp_buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/tuner/training/resnet18.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ResNet18Parameters;
using Indices = std::vector<std::int64_t>;

constexpr std::int64_t kMib = 1 << 20;

std::vector<std::int64_t> BytesOf(const std::vector<GradientBucket>& buckets) {
  std::vector<std::int64_t> bytes;
  bytes.reserve(buckets.size());
  for (const GradientBucket& bucket : buckets) bytes.push_back(bucket.bytes);
  return bytes;
}

std::vector<Indices> IndicesOf(const std::vector<GradientBucket>& buckets) {
  std::vector<Indices> indices;
  indices.reserve(buckets.size());
  for (const GradientBucket& bucket : buckets) indices.push_back(bucket.parameters);
  return indices;
}

BucketRules OlderRules(std::int64_t cap_mib) {
  BucketRules rules;
  rules.cap_bytes = cap_mib * kMib;
  rules.older_first_cap = true;
  return rules;
}

// Tensors of so many elements of one type each.
std::vector<ModelParameter> Tensors(const std::vector<std::int64_t>& elements,
                                    const std::vector<DataType>& types = {}) {
  std::vector<ModelParameter> parameters;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    parameters.push_back(
        {"p" + std::to_string(i), {elements[i]}, types.empty() ? DataType::kFloat32 : types[i]});
  }
  return parameters;
}

std::string MessageOf(const std::string& cap) {
  try {
    ParseBucketCap(cap);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

// The bytes that a user of PyTorch saw in pytorch/pytorch issue 48880, and what follows by hand.
TEST(DdpBucketsTest, ResNet18FillsTheBucketsThatUsersSaw) {
  const std::vector<ModelParameter> parameters = ResNet18Parameters();
  ASSERT_EQ(parameters.size(), 62U);
  const auto bytes = [&](std::int64_t cap) {
    return BytesOf(MakeBuckets(parameters, OlderRules(cap)));
  };
  EXPECT_THAT(bytes(25), ElementsAre(2052000, 28852224, 15853824));
  EXPECT_THAT(bytes(35), ElementsAre(2052000, 38297600, 6408448));
  EXPECT_THAT(bytes(10), ElementsAre(2052000, 18882560, 14692352, 10501120, 630016));
  EXPECT_THAT(bytes(100), ElementsAre(2052000, 44706048));
  EXPECT_EQ(bytes(1).size(), 12U);
  for (const std::int64_t cap : {1, 10, 25, 35, 100}) {
    std::int64_t sum = 0;
    for (const std::int64_t of_bucket : bytes(cap)) sum += of_bucket;
    EXPECT_EQ(sum, 46758048) << cap;
  }
}

TEST(DdpBucketsTest, TheDefaultCapHasASmallFirstBucketAndAUsersHasNot) {
  const std::vector<ModelParameter> parameters = ResNet18Parameters();
  EXPECT_THAT(BytesOf(MakeBuckets(parameters, {})), ElementsAre(2052000, 28852224, 15853824));
  BucketRules rules;
  rules.cap_bytes = 25 * kMib;
  EXPECT_THAT(BytesOf(MakeBuckets(parameters, rules)), ElementsAre(30904224, 15853824));
}

TEST(DdpBucketsTest, FirstIterationHasOneBucketATypeWhateverTheCap) {
  BucketRules rules = OlderRules(1);
  rules.mode = BucketMode::kFirstIteration;
  EXPECT_THAT(BytesOf(MakeBuckets(ResNet18Parameters(), rules)), ElementsAre(46758048));
  const auto mixed = Tensors({4, 4, 4, 4}, {DataType::kFloat32, DataType::kBfloat16,
                                            DataType::kFloat32, DataType::kBfloat16});
  // The list is reversed, so that the bucket of the later first parameter goes first.
  EXPECT_THAT(IndicesOf(MakeBuckets(mixed, rules)), ElementsAre(Indices{1, 3}, Indices{0, 2}));
}

TEST(DdpBucketsTest, FindUnusedFillsInRegistrationAndReversesTheList) {
  BucketRules rules;
  rules.mode = BucketMode::kFindUnused;
  const std::vector<GradientBucket> buckets = MakeBuckets(ResNet18Parameters(), rules);
  // The first layers fill the small bucket, which is reduced last.
  EXPECT_THAT(BytesOf(buckets), ElementsAre(11497376, 33744896, 1515776));
  EXPECT_EQ(buckets.back().parameters.front(), 0);
  EXPECT_TRUE(std::is_sorted(buckets[0].parameters.begin(), buckets[0].parameters.end()));
}

TEST(DdpBucketsTest, ExplicitCapsAreForOneBucketEachAndTheLastForTheRest) {
  BucketRules rules;
  rules.caps_bytes = {8, 16, 4};
  const auto parameters = Tensors({1, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(IndicesOf(MakeBuckets(parameters, rules)),
              ElementsAre(Indices{8, 7}, Indices{6, 5, 4, 3}, Indices{2}, Indices{1}, Indices{0}));
  rules.mode = BucketMode::kFirstIteration;  // which explicit caps bucket, too
  EXPECT_THAT(IndicesOf(MakeBuckets(parameters, rules)),
              ElementsAre(Indices{8}, Indices{7}, Indices{6}, Indices{2, 3, 4, 5}, Indices{0, 1}));
}

TEST(DdpBucketsTest, RebuiltBucketsFollowTheReadyOrder) {
  BucketRules rules;
  rules.cap_bytes = 8;
  rules.ready_order = {2, 0, 3, 1, 4};
  EXPECT_THAT(IndicesOf(MakeBuckets(Tensors({1, 1, 1, 1, 1}), rules)),
              ElementsAre(Indices{2, 0}, Indices{3, 1}, Indices{4}));
}

TEST(DdpBucketsTest, TypesFillBucketsOfTheirOwnWithCapsOfTheirOwn) {
  BucketRules rules;
  rules.caps_bytes = {4, 8};
  rules.ready_order = {0, 1, 2, 3, 4, 5, 6};
  const auto f32 = DataType::kFloat32;
  const auto f16 = DataType::kFloat16;
  const auto parameters = Tensors({1, 1, 1, 1, 1, 1, 1}, {f32, f16, f32, f16, f16, f32, f16});
  // 0 closes at 4 bytes; 1 and 3 at 4; 2 and 5 at 8; 4 and 6 are left open.
  const std::vector<GradientBucket> buckets = MakeBuckets(parameters, rules);
  EXPECT_THAT(IndicesOf(buckets),
              ElementsAre(Indices{0}, Indices{1, 3}, Indices{2, 5}, Indices{4, 6}));
  EXPECT_EQ(buckets[1].type, f16);
  EXPECT_EQ(buckets[1].elements, 2);
  EXPECT_EQ(buckets[1].bytes, 4);
}

TEST(DdpBucketsTest, OpenBucketsFollowLatestTypeFirst) {
  BucketRules rules;
  rules.ready_order = {0, 1, 2, 3};
  const auto parameters = Tensors({1, 1, 1, 1}, {DataType::kFloat32, DataType::kFloat16,
                                                 DataType::kFloat16, DataType::kFloat32});
  EXPECT_THAT(IndicesOf(MakeBuckets(parameters, rules)), ElementsAre(Indices{1, 2}, Indices{0, 3}));
}

TEST(DdpBucketsTest, SparseGradientsHaveBucketsOfTheirOwn) {
  BucketRules rules;
  rules.cap_bytes = 12;
  rules.sparse = {false, false, true, false, false};
  const auto parameters = Tensors({1, 1, 100, 1, 1});
  // The sparse one closes at once, ahead of the bucket that is being filled around it.
  EXPECT_THAT(IndicesOf(MakeBuckets(parameters, rules)),
              ElementsAre(Indices{2}, Indices{4, 3, 1}, Indices{0}));
  rules.mode = BucketMode::kFindUnused;  // sorted by the first parameter, and reversed
  EXPECT_THAT(IndicesOf(MakeBuckets(parameters, rules)),
              ElementsAre(Indices{4}, Indices{2}, Indices{0, 1, 3}));
}

TEST(DdpBucketsTest, CapsOfNothingGiveEveryTensorItsBucketAndHugeOnesNeverSplit) {
  BucketRules rules;
  rules.cap_bytes = 0;
  EXPECT_EQ(MakeBuckets(ResNet18Parameters(), rules).size(), 62U);
  rules.cap_bytes = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(MakeBuckets(ResNet18Parameters(), rules).size(), 1U);
  rules.cap_bytes = kMib;
  EXPECT_THAT(BytesOf(MakeBuckets(Tensors({1 << 28}), rules)), ElementsAre(1 << 30));
}

// 14 GB of gradients in 560 tensors of 25 MB: golden row S000-034. S000-033 is the 25.
TEST(DdpBucketsTest, SevenBillionHalfPrecisionGradientsAre560Buckets) {
  BucketRules rules;
  rules.cap_bytes = ParseBucketCap("25000000B");
  const std::vector<DataType> types(560, DataType::kFloat16);
  const auto parameters = Tensors(std::vector<std::int64_t>(560, 12'500'000), types);
  EXPECT_EQ(MakeBuckets(parameters, rules).size(), 560U);
  EXPECT_EQ(kDefaultBucketCap, 25 * kMib);
}

// Every parameter once; no bucket under its cap but the last of its type; none that would have held
// its cap without its last tensor.
TEST(DdpBucketsTest, BucketsHoldTheirPromisesForRandomModels) {
  std::mt19937 random(20260801);
  const std::vector<DataType> some_types = {DataType::kFloat32, DataType::kBfloat16,
                                            DataType::kFloat16};
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random() % 60;
    std::vector<std::int64_t> elements(count);
    std::vector<DataType> types(count);
    for (std::size_t i = 0; i < count; ++i) {
      elements[i] = 1 + static_cast<std::int64_t>(random() % 500);
      types[i] = some_types[random() % some_types.size()];
    }
    const auto parameters = Tensors(elements, types);
    BucketRules rules;
    const auto cap = static_cast<std::int64_t>(random() % 4000);
    rules.cap_bytes = cap;
    rules.mode = round % 2 == 0 ? BucketMode::kRebuilt : BucketMode::kFindUnused;
    if (round % 4 == 0) {
      rules.ready_order.resize(count);
      for (std::size_t i = 0; i < count; ++i) rules.ready_order[i] = static_cast<int>(i);
      std::shuffle(rules.ready_order.begin(), rules.ready_order.end(), random);
    }
    std::vector<int> seen(count, 0);
    std::map<DataType, int> under;
    for (const GradientBucket& bucket : MakeBuckets(parameters, rules)) {
      std::int64_t bytes = 0;
      for (const std::int64_t index : bucket.parameters) {
        ++seen[index];
        EXPECT_EQ(parameters[index].type, bucket.type);
        bytes += Bytes(parameters[index]);
      }
      EXPECT_EQ(bytes, bucket.bytes);
      EXPECT_TRUE(bucket.parameters.size() == 1 ||
                  bytes - Bytes(parameters[bucket.parameters.back()]) < cap);
      if (bytes < cap) ++under[bucket.type];
    }
    EXPECT_EQ(seen, std::vector<int>(count, 1));
    for (const auto& [type, buckets] : under) EXPECT_LE(buckets, 1);
  }
}

TEST(DdpBucketsTest, BucketsWaitForThoseAheadOfThem) {
  BucketRules rules;
  rules.cap_bytes = 8;
  const std::vector<GradientBucket> buckets = MakeBuckets(Tensors({1, 1, 1, 1, 1, 1}), rules);
  ASSERT_THAT(IndicesOf(buckets), ElementsAre(Indices{5, 4}, Indices{3, 2}, Indices{1, 0}));
  const std::vector<std::int64_t> as_planned = {5, 4, 3, 2, 1, 0};
  EXPECT_THAT(GradientsBeforeLaunch(buckets, as_planned), ElementsAre(2, 4, 6));
  // The second bucket is complete first, but goes with the first.
  const std::vector<std::int64_t> otherwise = {2, 3, 5, 0, 4, 1};
  EXPECT_THAT(GradientsBeforeLaunch(buckets, otherwise), ElementsAre(5, 5, 6));
  const std::vector<double> ready = {1.5, 3.5, 0.25, 0.5, 2.5, 0.75};
  const std::vector<BucketTimes> times = TimesOfBuckets(buckets, ready);
  EXPECT_EQ(times[1].ready, 0.5);
  EXPECT_EQ(times[1].launch, 2.5);
  EXPECT_EQ(times[2].launch, 3.5);
}

TEST(DdpBucketsTest, OneBucketCannotOverlap) {
  BucketRules rules;
  rules.cap_bytes = ParseBucketCap("100");
  EXPECT_THAT(WhyNoOverlap(MakeBuckets(ResNet18Parameters(), rules)),
              HasSubstr("no overlap possible: one bucket of 46758048 bytes"));
  EXPECT_THAT(WhyNoOverlap(MakeBuckets(Tensors({1}), {})), HasSubstr("never split"));
  EXPECT_EQ(WhyNoOverlap(MakeBuckets(ResNet18Parameters(), {})), "");
}

TEST(DdpBucketsTest, RefusesWhatCannotBeBucketed) {
  EXPECT_THROW(MakeBuckets({}, {}), std::invalid_argument);
  const auto parameters = Tensors({1, 1, 1});
  const auto refused = [&](const BucketRules& rules) {
    EXPECT_THROW(MakeBuckets(parameters, rules), std::invalid_argument);
  };
  BucketRules rules;
  rules.cap_bytes = -1;
  refused(rules);
  for (const Indices& order : {Indices{0, 1}, Indices{0, 1, 1}, Indices{0, 1, 3}, Indices{-1, 0, 1},
                               Indices{0, 1, 2, 0}}) {
    rules = {};
    rules.ready_order = order;
    refused(rules);
  }
  rules = {};
  rules.sparse = {true};
  refused(rules);
  const std::vector<double> too_few = {1, 2};
  EXPECT_THROW(TimesOfBuckets(MakeBuckets(parameters, {}), too_few), std::invalid_argument);
}

TEST(BucketCapTest, ReadsMebibytesAndSizesWithTheirUnits) {
  EXPECT_EQ(ParseBucketCap("25"), 26214400);
  EXPECT_EQ(ParseBucketCap("25MiB"), 26214400);
  EXPECT_EQ(ParseBucketCap("1mib"), kMib);
  EXPECT_EQ(ParseBucketCap("1048576B"), kMib);
  EXPECT_EQ(ParseBucketCap("1.5KiB"), 1536);
  EXPECT_EQ(ParseBucketCap("2GiB"), std::int64_t{2} << 30);
  EXPECT_EQ(ParseBucketCap("0.5"), kMib / 2);
  EXPECT_EQ(ParseBucketCap("0.0001"), 104);  // cut off, as PyTorch does: 104.8576
  EXPECT_EQ(ParseBucketCap("1e-9"), 0);
  EXPECT_EQ(ParseBucketCap("5e8"), std::int64_t{500'000'000} * kMib);
  EXPECT_EQ(ParseBucketCap("1e30"), std::numeric_limits<std::int64_t>::max());
}

TEST(BucketCapTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "0", "0.0", "-1", "-0", "nan", "NaN", "inf", "-inf", "1e400", "MiB",
                           "+5", "25 MiB", "25TB", "25MiBs", "0x10", "1,5"}) {
    EXPECT_THAT(MessageOf(text),
                HasSubstr("\"" + std::string(text) + "\": expected a size above 0"))
        << text;
  }
}

TEST(BucketCapTest, AsksWhichMegabytesAreMeant) {
  EXPECT_EQ(MessageOf("25MB"),
            "\"25MB\": expected 25MiB (powers of 1024, what PyTorch calls MB) or 25000000B");
  EXPECT_THAT(MessageOf("0.5gb"), HasSubstr("expected 0.5GiB"));
  EXPECT_THAT(MessageOf("64k"), HasSubstr("or 64000B"));
}

}  // namespace
}  // namespace hockney
