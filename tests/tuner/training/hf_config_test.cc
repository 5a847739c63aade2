#include "tuner/training/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "topology/check.h"
#include "tuner/training/model_presets.h"
#include "tuner/training/transformer_units.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

TransformerConfig Parse(const Json& json) { return ParseHuggingFaceConfig(json.dump(), "c.json"); }
std::int64_t Total(const Json& json) { return TotalElements(DescribeTransformer(Parse(json))); }

std::string FailureOfText(const std::string& text) {
  try {
    DescribeTransformer(ParseHuggingFaceConfig(text, "c.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no failure";
}
std::string Failure(const Json& json) { return FailureOfText(json.dump()); }

Json With(Json json, const char* key, const Json& value) {
  json[key] = value;
  return json;
}
Json Without(Json json, const char* key) {
  json.erase(key);
  return json;
}

// Configs as the hub has them, less what changes neither tensors nor work.
Json Gpt2() {
  return {{"model_type", "gpt2"}, {"n_embd", 768},       {"n_layer", 12},
          {"n_head", 12},         {"n_positions", 1024}, {"vocab_size", 50257}};
}
Json Llama(const char* type = "llama") {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", type},
          {"hidden_size", 4096},
          {"intermediate_size", 14336},
          {"num_hidden_layers", 32},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"vocab_size", 128256},
          {"max_position_embeddings", 8192},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"}};
}
Json Mistral() { return With(With(Llama("mistral"), "vocab_size", 32000), "sliding_window", 4096); }
Json Mixtral() {
  Json json = With(With(Llama("mixtral"), "vocab_size", 32000), "sliding_window", nullptr);
  return With(With(json, "num_local_experts", 8), "num_experts_per_tok", 2);
}
Json Qwen2() {
  return {{"model_type", "qwen2"},       {"hidden_size", 896},
          {"intermediate_size", 4864},   {"num_hidden_layers", 24},
          {"num_attention_heads", 14},   {"num_key_value_heads", 2},
          {"vocab_size", 151936},        {"max_position_embeddings", 32768},
          {"tie_word_embeddings", true}, {"use_sliding_window", false},
          {"sliding_window", 32768},     {"max_window_layers", 21}};
}
Json Deepseek() {
  return {{"model_type", "deepseek_v3"},
          {"hidden_size", 7168},
          {"intermediate_size", 18432},
          {"moe_intermediate_size", 2048},
          {"num_hidden_layers", 61},
          {"num_attention_heads", 128},
          {"num_key_value_heads", 128},
          {"n_shared_experts", 1},
          {"n_routed_experts", 256},
          {"num_experts_per_tok", 8},
          {"first_k_dense_replace", 3},
          {"q_lora_rank", 1536},
          {"kv_lora_rank", 512},
          {"qk_nope_head_dim", 128},
          {"qk_rope_head_dim", 64},
          {"v_head_dim", 128},
          {"vocab_size", 129280},
          {"max_position_embeddings", 163840},
          {"quantization_config", {{"quant_method", "fp8"}}},
          {"torch_dtype", "bfloat16"}};
}

// The numbers of parameters that the hub shows.
TEST(HuggingFaceConfigTest, PublishedModelsHaveTheirNumberOfParameters) {
  EXPECT_EQ(Total(Gpt2()), 124'439'808);
  EXPECT_EQ(Total(With(With(With(Gpt2(), "n_embd", 1600), "n_layer", 48), "n_head", 25)),
            1'557'611'200);
  EXPECT_EQ(Total(Llama()), 8'030'261'248);
  EXPECT_EQ(Total(Mistral()), 7'241'732'096);
  EXPECT_EQ(Total(Mixtral()), 46'702'792'704);
  EXPECT_EQ(Total(Qwen2()), 494'032'768);
  EXPECT_EQ(Total(Deepseek()), 671'026'419'200 - 58 * 256);

  Json qwen = With(With(Qwen2(), "hidden_size", 3584), "intermediate_size", 18944);
  qwen = With(With(qwen, "num_attention_heads", 28), "num_key_value_heads", 4);
  qwen = With(With(qwen, "num_hidden_layers", 28), "vocab_size", 152064);
  EXPECT_EQ(Total(With(qwen, "tie_word_embeddings", false)), 7'615'616'512);

  Json llama = With(With(Llama(), "hidden_size", 2048), "intermediate_size", 8192);
  llama = With(With(llama, "num_hidden_layers", 16), "tie_word_embeddings", true);
  EXPECT_EQ(Total(With(llama, "head_dim", 64)), 1'235'814'400);

  // Mistral-Nemo: its heads are narrower than hidden_size / num_attention_heads.
  Json nemo = With(With(Mistral(), "hidden_size", 5120), "num_hidden_layers", 40);
  EXPECT_EQ(Total(With(With(nemo, "head_dim", 128), "vocab_size", 131072)), 12'247'782'400);
}

TEST(HuggingFaceConfigTest, GivesThePresetsTensors) {
  const std::vector<std::pair<std::string, Json>> pairs = {{"gpt2", Gpt2()},
                                                           {"llama3-8b", Llama()},
                                                           {"mixtral-8x7b", Mixtral()},
                                                           {"deepseek-v3", Deepseek()}};
  for (const auto& [name, json] : pairs) {
    const ModelDescription preset =
        DescribeTransformer(std::get<TransformerConfig>(FindModelPreset(name)));
    const ModelDescription read = DescribeTransformer(Parse(json));
    ASSERT_EQ(read.parameters.size(), preset.parameters.size()) << name;
    for (std::size_t i = 0; i < read.parameters.size(); ++i) {
      ASSERT_EQ(read.parameters[i].name, preset.parameters[i].name);
      ASSERT_EQ(read.parameters[i].shape, preset.parameters[i].shape) << read.parameters[i].name;
      ASSERT_EQ(read.parameters[i].split, preset.parameters[i].split) << read.parameters[i].name;
    }
  }
}

TEST(HuggingFaceConfigTest, TypeAndLengthAreTheFiles) {
  EXPECT_EQ(Parse(Llama()).type, DataType::kBfloat16);
  EXPECT_EQ(Parse(Gpt2()).type, DataType::kFloat32);
  EXPECT_EQ(Parse(With(Llama(), "dtype", "float16")).type, DataType::kFloat16);  // transformers 5
  EXPECT_EQ(Parse(Llama()).tokens_per_sample, 8192);
  EXPECT_EQ(Parse(Gpt2()).tokens_per_sample, 1024);
  EXPECT_EQ(Parse(Llama()).name, "c.json");
  EXPECT_THAT(Parse(Llama()).source, HasSubstr("llama"));
}

TEST(HuggingFaceConfigTest, KeysThatMayBeMissingHaveTheDefaultsOfTransformers) {
  EXPECT_EQ(Total(With(Gpt2(), "n_inner", nullptr)), 124'439'808);
  EXPECT_EQ(Total(With(Gpt2(), "tie_word_embeddings", false)), 124'439'808 + 50257 * 768);
  EXPECT_EQ(Total(With(Gpt2(), "n_inner", 768)), 124'439'808 - 12 * 2304 * (2 * 768 + 1));
  EXPECT_EQ(Parse(Without(Llama(), "num_key_value_heads")).key_value_heads, 32);
  EXPECT_EQ(Parse(With(Mistral(), "num_key_value_heads", nullptr)).key_value_heads, 32);
  EXPECT_EQ(Total(Without(Llama(), "tie_word_embeddings")), 8'030'261'248);
  EXPECT_EQ(Total(With(Llama(), "head_dim", nullptr)), 8'030'261'248);
}

TEST(HuggingFaceConfigTest, BiasesStandBehindTheirWeights) {
  EXPECT_EQ(Total(With(Llama(), "attention_bias", true)),
            8'030'261'248 + 32 * (4096 + 2 * 1024 + 4096));
  EXPECT_EQ(Total(With(Llama(), "mlp_bias", true)), 8'030'261'248 + 32 * (2 * 14336 + 4096));
  EXPECT_EQ(Total(With(Mistral(), "attention_bias", true)), 7'241'732'096);  // Mistral has none
  const ModelDescription model = DescribeTransformer(Parse(With(Llama(), "attention_bias", true)));
  EXPECT_EQ(model.parameters.at(2).name, "model.layers.0.self_attn.q_proj.bias");
  EXPECT_EQ(model.parameters.at(2).split, ParameterSplit::kTensor);
  EXPECT_EQ(model.parameters.at(8).name, "model.layers.0.self_attn.o_proj.bias");
  EXPECT_EQ(model.parameters.at(8).split, ParameterSplit::kNone);
  EXPECT_EQ(Total(With(Deepseek(), "attention_bias", true)) - Total(Deepseek()),
            61 * (1536 + 576 + 7168));
  const ModelDescription qwen = DescribeTransformer(Parse(Qwen2()));
  EXPECT_EQ(qwen.parameters.at(6).name, "model.layers.0.self_attn.v_proj.bias");
  EXPECT_EQ(qwen.parameters.at(7).name, "model.layers.0.self_attn.o_proj.weight");
  EXPECT_EQ(qwen.parameters.at(8).name, "model.layers.0.mlp.gate_proj.weight");
}

TEST(HuggingFaceConfigTest, DeepseekMayComputeItsQueriesDirectlyAndShareNoExpert) {
  const ModelDescription direct =
      DescribeTransformer(Parse(With(Deepseek(), "q_lora_rank", nullptr)));
  EXPECT_EQ(direct.parameters.at(1).name, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(direct.parameters.at(1).shape, (std::vector<std::int64_t>{128 * 192, 7168}));
  for (const Json& none : {Json(nullptr), Json(0)}) {
    const ModelDescription model =
        DescribeTransformer(Parse(With(Deepseek(), "n_shared_experts", none)));
    EXPECT_EQ(Total(Deepseek()) - TotalElements(model), std::int64_t{58} * 3 * 7168 * 2048);
    EXPECT_EQ(model.parameters.size(), 45337U - 58 * 3);
  }
}

double BlockFlops(const Json& json, std::size_t layer) {
  return DescribeTransformer(Parse(json)).units.at(1 + layer).forward_flops;
}

TEST(HuggingFaceConfigTest, AWindowSavesThePairsOutsideIt) {
  const double saved = 2 * 4096.0 * 4096.0 * 4096.0;  // 4 h (s - w)^2 / 2
  const Json all = With(Mistral(), "sliding_window", nullptr);
  EXPECT_EQ(BlockFlops(all, 0) - BlockFlops(Mistral(), 0), saved);
  EXPECT_EQ(BlockFlops(Without(Mistral(), "sliding_window"), 0), BlockFlops(Mistral(), 0));
  EXPECT_EQ(BlockFlops(With(Mistral(), "sliding_window", 10000), 0), BlockFlops(all, 0));
  const Json qwen = With(Qwen2(), "sliding_window", 4096);
  const Json windowed = With(qwen, "use_sliding_window", true);
  EXPECT_EQ(BlockFlops(windowed, 20), BlockFlops(qwen, 20));
  EXPECT_EQ(BlockFlops(qwen, 21) - BlockFlops(windowed, 21), 2 * 896.0 * 28672 * 28672);
}

TEST(HuggingFaceConfigTest, WhatIsNoJsonIsNamedWithItsPlace) {
  EXPECT_THAT(FailureOfText("{\n  \"model_type\": llama\n}"), HasSubstr("c.json:2:17: "));
  EXPECT_THAT(FailureOfText(""), HasSubstr("c.json:1:1: the end of the text: expected JSON"));
  EXPECT_THAT(FailureOfText("[]"), HasSubstr("c.json: the whole: []: expected an object"));
}

TEST(HuggingFaceConfigTest, OtherModelTypesListTheAcceptedOnes) {
  EXPECT_EQ(Failure(With(Llama(), "model_type", "falcon")),
            "c.json: model_type: \"falcon\": expected \"gpt2\", \"llama\", \"mistral\", "
            "\"mixtral\", \"qwen2\" or \"deepseek_v3\"");
  EXPECT_THAT(Failure(Without(Llama(), "model_type")), HasSubstr("a member \"model_type\""));
}

TEST(HuggingFaceConfigTest, MissingSizesAreNamed) {
  for (const char* key : {"hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size",
                          "num_attention_heads", "max_position_embeddings"}) {
    EXPECT_THAT(Failure(Without(Llama(), key)),
                HasSubstr("expected a member \"" + std::string(key) + "\""));
  }
  for (const char* key : {"n_embd", "n_layer", "n_head", "n_positions", "vocab_size"}) {
    EXPECT_THAT(Failure(Without(Gpt2(), key)), HasSubstr("member \"" + std::string(key) + "\""));
  }
  EXPECT_THAT(Failure(Without(Mistral(), "num_key_value_heads")),
              HasSubstr("expected a member \"num_key_value_heads\""));
  EXPECT_THAT(Failure(Without(Deepseek(), "kv_lora_rank")), HasSubstr("member \"kv_lora_rank\""));
}

TEST(HuggingFaceConfigTest, AbsurdValuesAreRefused) {
  for (const char* key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size",
        "num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings"}) {
    const std::string place = "c.json: " + std::string(key) + ": ";
    for (const Json& value : {Json(0), Json(-1), Json(4096.5), Json("4096"), Json(true),
                              Json(std::uint64_t{18446744073709551615U}), Json(1e300)}) {
      EXPECT_THAT(Failure(With(Llama(), key, value)),
                  HasSubstr(place + value.dump() + ": expected a whole number from 1 to "));
    }
  }
  EXPECT_EQ(Failure(With(Llama(), "num_attention_heads", 48)),
            "c.json: num_attention_heads: 48: expected a divisor of hidden_size, which is 4096");
  EXPECT_EQ(Failure(With(Llama(), "num_key_value_heads", 5)),
            "c.json: num_key_value_heads: 5: expected a divisor of num_attention_heads, which is "
            "32");
  EXPECT_THAT(Failure(With(Gpt2(), "n_head", 13)), HasSubstr("a divisor of n_embd"));
  EXPECT_THAT(Failure(With(Mixtral(), "num_experts_per_tok", 9)),
              HasSubstr("num_experts_per_tok: 9: expected at most num_local_experts, which is 8"));
  EXPECT_THAT(Failure(With(Deepseek(), "first_k_dense_replace", 62)), HasSubstr("from 0 to 61"));
  EXPECT_THAT(Failure(With(Llama(), "torch_dtype", "int8")), HasSubstr("\"bfloat16\""));
  EXPECT_THAT(Failure(With(Llama(), "attention_bias", 1)), HasSubstr("expected true or false"));
  EXPECT_THAT(Failure(With(Gpt2(), "add_cross_attention", true)), HasSubstr("expected false"));
}

TEST(HuggingFaceConfigTest, ModelsBeyondAllMeasureAreRefused) {
  EXPECT_THAT(
      Failure(With(With(Deepseek(), "num_hidden_layers", 100'000), "n_routed_experts", 65536)),
      HasSubstr("c.json: model.layers."));
  Json wide = With(With(Llama(), "hidden_size", 1 << 20), "intermediate_size", 1 << 20);
  EXPECT_THAT(Failure(With(wide, "num_hidden_layers", 100'000)),
              HasSubstr("expected at most 72057594037927936 parameters"));
}

}  // namespace
}  // namespace hockney
