#include "tuner/exports/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tuner/training/plan_of_row.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kCap = 10 << 20;  // 2,621,440 float32

StepPlan Plan(const std::string& sharding = "ddp") {
  return PlanOfRow({.model = "gpt2",
                    .scale = "layers=8,hidden=256,vocab=1024",
                    .ranks = 4,
                    .sharding = sharding});
}

std::string TextOf(const char* name, const StepPlan& plan, std::int64_t cap = kCap) {
  for (const BucketExport& each : AllBucketExports()) {
    if (each.name == name) return each.text(plan, cap);
  }
  return "";
}

TEST(BucketExportsTest, EachFrameworkGetsItsOwnUnit) {
  EXPECT_THAT(TextOf("ddp", Plan()), HasSubstr("bucket_cap_mb=10)"));
  EXPECT_THAT(TextOf("ddp", Plan(), 524288), HasSubstr("bucket_cap_mb=0.5)"));
  EXPECT_THAT(TextOf("megatron", Plan()),
              HasSubstr("--overlap-grad-reduce --ddp-bucket-size 2621440\n"));
  EXPECT_THAT(TextOf("horovod", Plan()), HasSubstr("HOROVOD_FUSION_THRESHOLD=10485760\n"));
  StepPlan half = Plan();
  half.gradient_type = DataType::kBfloat16;
  EXPECT_THAT(TextOf("megatron", half), HasSubstr("--ddp-bucket-size 5242880\n"));
}

TEST(BucketExportsTest, DeepSpeedIsJsonWithAnEvenSizeForGathers) {
  const auto json =
      nlohmann::json::parse(TextOf("deepspeed", Plan("zero1"), 4 * 1001))["zero_optimization"];
  EXPECT_EQ(json["stage"], 1);
  EXPECT_EQ(json["reduce_bucket_size"], 1001);
  EXPECT_EQ(json["allgather_bucket_size"], 1002);
  EXPECT_EQ(json["overlap_comm"], true);
}

TEST(BucketExportsTest, FsdpWrapsAsManyLayersAsFit) {
  // A layer of 789,760 parameters has 3.0 MiB.
  EXPECT_THAT(TextOf("fsdp", Plan("zero3")), HasSubstr("range(0, len(layers), 3)"));
  EXPECT_THAT(TextOf("fsdp", Plan("zero3"), 1), HasSubstr("Wrap 1 layer at a time"));
}

}  // namespace
}  // namespace hockney
