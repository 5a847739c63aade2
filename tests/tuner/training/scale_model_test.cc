#include "tuner/training/scale_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "topology/check.h"
#include "tuner/training/model_presets.h"
#include "tuner/training/transformer_units.h"

namespace hockney {
namespace {

using ::testing::HasSubstr;

TransformerConfig Preset(const std::string& name) {
  return std::get<TransformerConfig>(FindModelPreset(name));
}
TransformerConfig Scaled(const std::string& name, const std::string& scale) {
  return ScaleModel(Preset(name), scale);
}
std::string Failure(const std::string& name, const std::string& scale) {
  try {
    DescribeTransformer(Scaled(name, scale));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(ScaleModelTest, KeepsRatiosAndTheSizeOfAHead) {
  const TransformerConfig llama = Scaled("llama3-8b", "layers=4,hidden=1024");
  EXPECT_EQ(llama.name, "llama3-8b (layers=4,hidden=1024)");
  EXPECT_EQ(llama.layers, 4);
  EXPECT_EQ(llama.hidden, 1024);
  EXPECT_EQ(llama.feed_forward, 3584);
  EXPECT_EQ(llama.heads, 8);
  EXPECT_EQ(llama.head_size, 128);
  EXPECT_EQ(llama.key_value_heads, 2);
  EXPECT_EQ(llama.vocabulary, 128256);
  EXPECT_EQ(llama.tokens_per_sample, 8192);
  EXPECT_EQ(Scaled("llama3-8b", "hidden=256").key_value_heads, 1);
  // A quarter of 14 heads is 3, which does not divide 14.
  EXPECT_EQ(Scaled("llama3-8b", "hidden=1792").key_value_heads, 2);
  EXPECT_EQ(Scaled("llama3-8b", "heads=12,hidden=1536").key_value_heads, 3);
}

// The smallest transformer of GPT-2's kind that people train first: 12 h^2 + 13 h a layer.
TEST(ScaleModelTest, GivesAWholeModel) {
  const ModelDescription model =
      DescribeTransformer(Scaled("gpt2", " layers = 4, hidden=256 ,vocab=512"));
  EXPECT_EQ(TotalElements(model), 4 * (12 * 256 * 256 + 13 * 256) + 256 * (512 + 1024 + 2));
  EXPECT_EQ(model.transformer->heads, 4);
  EXPECT_EQ(model.transformer->key_value_heads, 4);
  EXPECT_EQ(model.name, "gpt2 (layers = 4, hidden=256 ,vocab=512)");
}

TEST(ScaleModelTest, WhatIsGivenIsTaken) {
  const TransformerConfig config =
      Scaled("llama3-8b", "hidden=256,ffn=100,heads=8,kv_heads=4,vocab=1000");
  EXPECT_EQ(config.feed_forward, 100);
  EXPECT_EQ(config.heads, 8);
  EXPECT_EQ(config.head_size, 32);
  EXPECT_EQ(config.key_value_heads, 4);
  EXPECT_EQ(config.vocabulary, 1000);
  EXPECT_EQ(config.layers, 32);
  EXPECT_EQ(Scaled("llama3-8b", "heads=64").head_size, 64);
  EXPECT_EQ(Scaled("llama3-8b", "heads=64").key_value_heads, 16);
}

TEST(ScaleModelTest, ExpertsFollow) {
  const TransformerConfig mixtral = Scaled("mixtral-8x7b", "hidden=1024,experts=4");
  EXPECT_EQ(mixtral.experts.value().routed, 4);
  EXPECT_EQ(mixtral.experts.value().per_token, 2);
  EXPECT_EQ(mixtral.experts.value().feed_forward, 3584);
  EXPECT_EQ(Scaled("mixtral-8x7b", "experts=1").experts.value().per_token, 1);
  const TransformerConfig deepseek = Scaled("deepseek-v3", "layers=2,hidden=448,ffn=900");
  EXPECT_EQ(deepseek.heads, 8);
  EXPECT_EQ(deepseek.key_value_heads, 8);
  EXPECT_EQ(deepseek.head_size, 192);
  EXPECT_EQ(deepseek.latent.value().query_rank, 96);
  EXPECT_EQ(deepseek.latent.value().key_value_rank, 32);
  EXPECT_EQ(deepseek.latent.value().value_head_size, 128);
  EXPECT_EQ(deepseek.experts.value().feed_forward, 100);
  EXPECT_EQ(deepseek.experts.value().dense_layers, 1);
  EXPECT_EQ(Scaled("deepseek-v3", "hidden=100,heads=3").heads, 3);
  EXPECT_EQ(Scaled("deepseek-v3", "layers=5").experts.value().dense_layers, 3);
}

TEST(ScaleModelTest, WidthsOtherThanHiddenKeepTheirRatio) {
  TransformerConfig config = Preset("llama3-8b");
  config.hidden = 5120;  // 32 heads of 128 are narrower than that, as in Mistral-Nemo
  const TransformerConfig scaled = ScaleModel(config, "hidden=640");
  EXPECT_EQ(scaled.heads, 4);
  EXPECT_EQ(scaled.head_size, 128);
  EXPECT_EQ(ScaleModel(config, "hidden=640,heads=8").head_size, 64);
}

TEST(ScaleModelTest, BadScalesAreRefused) {
  EXPECT_EQ(Failure("gpt2", "depth=4"),
            "scale \"depth=4\": \"depth\": expected one of layers, hidden, ffn, heads, kv_heads, "
            "vocab, experts");
  for (const std::string scale : {"", "layers", "layers=4,", ",layers=4"}) {
    EXPECT_THAT(Failure("gpt2", scale), HasSubstr("expected key=value,..."));
  }
  for (const std::string value :
       {"0", "-1", "1.5", "1e3", "", "four", "67108865", "99999999999999999999"}) {
    EXPECT_THAT(Failure("gpt2", "layers=" + value),
                HasSubstr("expected a whole number from 1 to 67108864"));
  }
  EXPECT_THAT(Failure("gpt2", "layers=1,layers=2"), HasSubstr("expected each key once"));
  EXPECT_THAT(Failure("gpt2", "hidden=100"),
              HasSubstr("\"hidden=100\": expected whole heads of 64, or a number of heads"));
  EXPECT_THAT(Failure("gpt2", "heads=5"), HasSubstr("\"heads=5\": expected a divisor of 768"));
  EXPECT_THAT(Failure("llama3-8b", "kv_heads=5"), HasSubstr("expected a divisor of 32"));
  EXPECT_THAT(Failure("deepseek-v3", "hidden=100"), HasSubstr("expected a multiple of 56"));
}

TEST(ScaleModelTest, WhatTheModelLacksIsRefused) {
  EXPECT_THAT(Failure("gpt2", "kv_heads=4"), HasSubstr("\"kv_heads=4\": expected no kv_heads"));
  EXPECT_THAT(Failure("deepseek-v3", "kv_heads=4"), HasSubstr("expected no kv_heads"));
  EXPECT_THAT(Failure("llama3-8b", "experts=4"), HasSubstr("\"experts=4\": expected no experts"));
}

TEST(ScaleModelTest, ModelsBeyondAllMeasureAreRefused) {
  EXPECT_THAT(Failure("llama3-8b", "hidden=67108864"), HasSubstr("expected at most"));
  EXPECT_THAT(Failure("llama3-8b", "hidden=128,layers=67108864"), HasSubstr("1000000 tensors"));
  EXPECT_THAT(Failure("llama3-8b", "hidden=1024,heads=1,ffn=67108864,layers=500000"),
              HasSubstr("expected at most"));
}

}  // namespace
}  // namespace hockney
