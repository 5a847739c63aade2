#include "tuner/training/shard_padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/tuner/training/resnet18.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;

GradientBucket BucketOf(std::int64_t elements, DataType type = DataType::kFloat32) {
  const auto bytes = elements * static_cast<std::int64_t>(ElementBytes(type));
  return {{0}, elements, bytes, type};
}

std::vector<std::int64_t> UsefulOfShards(const PaddedBucket& bucket, std::int64_t shards) {
  std::vector<std::int64_t> useful;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    useful.push_back(UsefulElements(bucket, shard));
  }
  return useful;
}

TEST(ShardPaddingTest, PadsToTheNextMultiple) {
  EXPECT_EQ(PaddedElements(10, 3), 12);
  EXPECT_EQ(PaddedElements(11689512, 16), 11689520);
  EXPECT_EQ(PaddedElements(11689512, 7), 11689517);
  EXPECT_EQ(PaddedElements(12, 3), 12);
  EXPECT_EQ(PaddedElements(0, 3), 0);
  EXPECT_EQ(PaddedElements(7, 1), 7);
}

TEST(ShardPaddingTest, EveryBucketOfResNet18IsPaddedForItself) {
  const auto buckets = MakeBuckets(testing::ResNet18Parameters(), {});
  const auto padded_on = [&](std::int64_t shards) {
    std::vector<std::int64_t> elements;
    for (const PaddedBucket& bucket : PadBuckets(buckets, shards)) {
      EXPECT_EQ(bucket.padded_elements, bucket.shard_elements * shards);
      elements.push_back(bucket.padded_elements);
    }
    return elements;
  };
  EXPECT_THAT(padded_on(1), ElementsAre(513000, 7213056, 3963456));
  EXPECT_THAT(padded_on(3), ElementsAre(513000, 7213056, 3963456));
  EXPECT_THAT(padded_on(5), ElementsAre(513000, 7213060, 3963460));
  EXPECT_THAT(padded_on(7), ElementsAre(513002, 7213059, 3963456));
  EXPECT_THAT(padded_on(16), ElementsAre(513008, 7213056, 3963456));
  EXPECT_EQ(PaddingBytes(PadBuckets(buckets, 5)), 4 * (0 + 4 + 4));
  EXPECT_EQ(PaddingBytes(PadBuckets(buckets, 7)), 4 * (2 + 3 + 0));
}

TEST(ShardPaddingTest, RanksWithPaddingOnlyHaveNothingUseful) {
  const std::vector<GradientBucket> buckets = {BucketOf(2, DataType::kBfloat16), BucketOf(10)};
  const auto padded = PadBuckets(buckets, 4);
  EXPECT_THAT(UsefulOfShards(padded[0], 4), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(UsefulOfShards(padded[1], 4), ElementsAre(3, 3, 3, 1));
  EXPECT_EQ(padded[0].padding_bytes, 4);
  EXPECT_EQ(padded[1].padding_bytes, 8);
  EXPECT_THROW(UsefulElements(padded[0], 4), std::invalid_argument);
  EXPECT_THROW(UsefulElements(padded[0], -1), std::invalid_argument);
  const std::vector<GradientBucket> empty = {BucketOf(0)};
  EXPECT_THAT(UsefulOfShards(PadBuckets(empty, 2)[0], 2), ElementsAre(0, 0));
}

TEST(ShardPaddingTest, MegatronAlignsToAPowerOfTwoAsWell) {
  EXPECT_EQ(PaddedElements(1, 8, kMegatronAlignment), 128);
  EXPECT_EQ(PaddedElements(1, 3, kMegatronAlignment), 384);
  EXPECT_EQ(PaddedElements(513000, 8, kMegatronBusAlignment), 8 * 65536);
  EXPECT_EQ(PaddedElements(513000, 3, kMegatronBusAlignment), 3 * 196608);
}

TEST(ShardPaddingTest, RefusesWhatIsNoNumberOfShards) {
  EXPECT_THROW(PaddedElements(10, 0), std::invalid_argument);
  EXPECT_THROW(PaddedElements(10, -3), std::invalid_argument);
  EXPECT_THROW(PaddedElements(10, 3, 0), std::invalid_argument);
  EXPECT_THROW(PaddedElements(-1, 3), std::invalid_argument);
}

}  // namespace
}  // namespace hockney
