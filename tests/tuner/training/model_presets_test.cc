#include "tuner/training/model_presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "topology/check.h"
#include "tuner/training/read_model_description.h"

namespace hockney {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

ModelDescription Preset(const std::string& name, std::int64_t tokens = 0) {
  return ReadModelDescription(name, {.tokens_per_sample = tokens});
}

double ForwardFlops(const ModelDescription& model) {
  double flops = 0;
  for (const ModelUnit& unit : model.units) flops += unit.forward_flops;
  return flops;
}

std::int64_t ElementsOf(const ModelDescription& model, ParameterSplit split) {
  std::int64_t elements = 0;
  for (const ModelParameter& parameter : model.parameters) {
    if (parameter.split == split) elements += Elements(parameter);
  }
  return elements;
}

// Parameters [first, first + count), as "name: shape", where the shape is 3x4.
std::vector<std::string> Listed(const ModelDescription& model, std::size_t first,
                                std::size_t count) {
  std::vector<std::string> texts;
  for (std::size_t i = first; i < first + count; ++i) {
    std::string text = model.parameters.at(i).name + ":";
    for (const std::int64_t size : model.parameters[i].shape) text += " " + std::to_string(size);
    texts.push_back(text);
  }
  return texts;
}

std::size_t FirstOf(const ModelDescription& model, const std::string& unit) {
  for (const ModelUnit& each : model.units) {
    if (each.name == unit) return static_cast<std::size_t>(each.first_parameter);
  }
  ADD_FAILURE() << "no unit " << unit;
  return 0;
}

ParameterSplit SplitOf(const ModelDescription& model, const std::string& name) {
  for (const ModelParameter& parameter : model.parameters) {
    if (parameter.name == name) return parameter.split;
  }
  ADD_FAILURE() << "no parameter " << name;
  return ParameterSplit::kNone;
}

TEST(ModelPresetsTest, HaveThePublishedNumbersOfParametersAndTensors) {
  const std::vector<std::tuple<std::string, std::int64_t, std::size_t>> published = {
      {"gpt2", 124'439'808, 148},
      {"gpt3-175b", 174'604'259'328, 1156},  // "174,600 M" in table D.1 of the paper
      {"llama3-8b", 8'030'261'248, 291},
      {"llama3-70b", 70'553'706'496, 723},
      {"llama3-405b", 405'853'388'800, 1137},
      {"mixtral-8x7b", 46'702'792'704, 995},
      // 671,026,419,200 are published with 256 router biases in each of 58 layers, which are
      // buffers in Hugging Face's model: no gradient goes to them.
      {"deepseek-v3", 671'026'419'200 - 58 * 256, 45337},
      {"resnet-18", 11'689'512, 62},
      {"resnet-50", 25'557'032, 161}};
  std::vector<std::string> names;
  for (const auto& [name, elements, tensors] : published) {
    const ModelDescription model = Preset(name);
    EXPECT_EQ(TotalElements(model), elements) << name;
    EXPECT_EQ(TotalBytes(model), 4 * elements) << name;
    EXPECT_EQ(model.parameters.size(), tensors) << name;
    EXPECT_EQ(model.name, name);
    EXPECT_NE(model.source, "") << name;
    names.push_back(name);
  }
  EXPECT_EQ(ListModelPresets(), names);
}

TEST(ModelPresetsTest, UnitsHoldEveryParameterOnceInOrder) {
  for (const std::string& name : ListModelPresets()) {
    const ModelDescription model = Preset(name);
    std::int64_t next = 0;
    std::int64_t blocks = 0;
    for (const ModelUnit& unit : model.units) {
      EXPECT_EQ(unit.first_parameter, next) << name << " " << unit.name;
      EXPECT_GE(unit.forward_flops, 0) << name << " " << unit.name;
      next += unit.parameters;
      blocks += unit.is_block ? 1 : 0;
    }
    EXPECT_EQ(next, std::ssize(model.parameters)) << name;
    EXPECT_FALSE(model.units.front().is_block || model.units.back().is_block) << name;
    EXPECT_EQ(blocks + 2, std::ssize(model.units)) << name;
    if (model.transformer) {
      EXPECT_EQ(blocks, model.transformer->layers) << name;
    }
  }
}

TEST(ModelPresetsTest, Gpt2IsLaidOutAsHuggingFaceDoes) {
  const ModelDescription model = Preset("gpt2");
  EXPECT_EQ(model.tokens_per_sample, 1024);
  EXPECT_THAT(
      Listed(model, 0, 14),
      ElementsAre(
          "transformer.wte.weight: 50257 768", "transformer.wpe.weight: 1024 768",
          "transformer.h.0.ln_1.weight: 768", "transformer.h.0.ln_1.bias: 768",
          "transformer.h.0.attn.c_attn.weight: 768 2304", "transformer.h.0.attn.c_attn.bias: 2304",
          "transformer.h.0.attn.c_proj.weight: 768 768", "transformer.h.0.attn.c_proj.bias: 768",
          "transformer.h.0.ln_2.weight: 768", "transformer.h.0.ln_2.bias: 768",
          "transformer.h.0.mlp.c_fc.weight: 768 3072", "transformer.h.0.mlp.c_fc.bias: 3072",
          "transformer.h.0.mlp.c_proj.weight: 3072 768", "transformer.h.0.mlp.c_proj.bias: 768"));
  EXPECT_THAT(Listed(model, 146, 2),
              ElementsAre("transformer.ln_f.weight: 768", "transformer.ln_f.bias: 768"));
  EXPECT_EQ(FirstOf(model, "transformer.h.7"), 2U + 7 * 12);
}

TEST(ModelPresetsTest, Llama3IsLaidOutAsHuggingFaceDoes) {
  const ModelDescription model = Preset("llama3-8b");
  EXPECT_EQ(model.tokens_per_sample, 8192);
  EXPECT_THAT(Listed(model, 0, 1), ElementsAre("model.embed_tokens.weight: 128256 4096"));
  EXPECT_THAT(Listed(model, FirstOf(model, "model.layers.3"), 9),
              ElementsAre("model.layers.3.self_attn.q_proj.weight: 4096 4096",
                          "model.layers.3.self_attn.k_proj.weight: 1024 4096",
                          "model.layers.3.self_attn.v_proj.weight: 1024 4096",
                          "model.layers.3.self_attn.o_proj.weight: 4096 4096",
                          "model.layers.3.mlp.gate_proj.weight: 14336 4096",
                          "model.layers.3.mlp.up_proj.weight: 14336 4096",
                          "model.layers.3.mlp.down_proj.weight: 4096 14336",
                          "model.layers.3.input_layernorm.weight: 4096",
                          "model.layers.3.post_attention_layernorm.weight: 4096"));
  EXPECT_THAT(Listed(model, FirstOf(model, "head"), 2),
              ElementsAre("model.norm.weight: 4096", "lm_head.weight: 128256 4096"));
}

TEST(ModelPresetsTest, MixtralHasATensorForEachExpert) {
  const ModelDescription model = Preset("mixtral-8x7b");
  const std::size_t first = FirstOf(model, "model.layers.31");
  EXPECT_THAT(Listed(model, first + 4, 4),
              ElementsAre("model.layers.31.block_sparse_moe.gate.weight: 8 4096",
                          "model.layers.31.block_sparse_moe.experts.0.w1.weight: 14336 4096",
                          "model.layers.31.block_sparse_moe.experts.0.w2.weight: 4096 14336",
                          "model.layers.31.block_sparse_moe.experts.0.w3.weight: 14336 4096"));
  EXPECT_THAT(Listed(model, first + 28, 2),
              ElementsAre("model.layers.31.block_sparse_moe.experts.7.w3.weight: 14336 4096",
                          "model.layers.31.input_layernorm.weight: 4096"));
}

TEST(ModelPresetsTest, DeepseekHasLatentAttentionDenseLayersAndASharedExpert) {
  const ModelDescription model = Preset("deepseek-v3");
  EXPECT_THAT(Listed(model, FirstOf(model, "model.layers.2"), 8),
              ElementsAre("model.layers.2.self_attn.q_a_proj.weight: 1536 7168",
                          "model.layers.2.self_attn.q_a_layernorm.weight: 1536",
                          "model.layers.2.self_attn.q_b_proj.weight: 24576 1536",
                          "model.layers.2.self_attn.kv_a_proj_with_mqa.weight: 576 7168",
                          "model.layers.2.self_attn.kv_a_layernorm.weight: 512",
                          "model.layers.2.self_attn.kv_b_proj.weight: 32768 512",
                          "model.layers.2.self_attn.o_proj.weight: 7168 16384",
                          "model.layers.2.mlp.gate_proj.weight: 18432 7168"));
  const std::size_t experts = FirstOf(model, "model.layers.3") + 7;
  EXPECT_THAT(Listed(model, experts, 3),
              ElementsAre("model.layers.3.mlp.experts.0.gate_proj.weight: 2048 7168",
                          "model.layers.3.mlp.experts.0.up_proj.weight: 2048 7168",
                          "model.layers.3.mlp.experts.0.down_proj.weight: 7168 2048"));
  EXPECT_THAT(Listed(model, experts + 256 * 3, 5),
              ElementsAre("model.layers.3.mlp.gate.weight: 256 7168",
                          "model.layers.3.mlp.shared_experts.gate_proj.weight: 2048 7168",
                          "model.layers.3.mlp.shared_experts.up_proj.weight: 2048 7168",
                          "model.layers.3.mlp.shared_experts.down_proj.weight: 7168 2048",
                          "model.layers.3.input_layernorm.weight: 7168"));
  EXPECT_EQ(model.transformer->dense_layers, 3);
  EXPECT_EQ(model.transformer->expert_feed_forward, 2048);
}

TEST(ModelPresetsTest, ResnetsAreLaidOutAsTorchvisionDoes) {
  const ModelDescription small = Preset("resnet-18");
  EXPECT_THAT(Listed(small, 0, 4), ElementsAre("conv1.weight: 64 3 7 7", "bn1.weight: 64",
                                               "bn1.bias: 64", "layer1.0.conv1.weight: 64 64 3 3"));
  EXPECT_THAT(
      Listed(small, FirstOf(small, "layer2.0") + 6, 4),
      ElementsAre("layer2.0.downsample.0.weight: 128 64 1 1", "layer2.0.downsample.1.weight: 128",
                  "layer2.0.downsample.1.bias: 128", "layer2.1.conv1.weight: 128 128 3 3"));
  EXPECT_THAT(Listed(small, 60, 2), ElementsAre("fc.weight: 1000 512", "fc.bias: 1000"));
  const ModelDescription large = Preset("resnet-50");
  const std::size_t block = FirstOf(large, "layer4.0");
  EXPECT_THAT(Listed(large, block, 1), ElementsAre("layer4.0.conv1.weight: 512 1024 1 1"));
  EXPECT_THAT(Listed(large, block + 3, 1), ElementsAre("layer4.0.conv2.weight: 512 512 3 3"));
  EXPECT_THAT(
      Listed(large, block + 6, 4),
      ElementsAre("layer4.0.conv3.weight: 2048 512 1 1", "layer4.0.bn3.weight: 2048",
                  "layer4.0.bn3.bias: 2048", "layer4.0.downsample.0.weight: 2048 1024 1 1"));
}

// Bytes of the buckets of PyTorch's reducer: tensors in the reverse order, a bucket is closed when
// it reaches its cap, the first cap is 1 MiB.
std::vector<std::int64_t> Buckets(const ModelDescription& model, std::int64_t cap_mib) {
  std::vector<std::int64_t> buckets;
  std::int64_t bytes = 0;
  for (std::size_t i = model.parameters.size(); i-- > 0;) {
    bytes += Bytes(model.parameters[i]);
    if (bytes < (buckets.empty() ? 1 : cap_mib) << 20 && i > 0) continue;
    buckets.push_back(bytes);
    bytes = 0;
  }
  return buckets;
}

// pytorch/pytorch#48880: what users saw.
TEST(ModelPresetsTest, TheOrderOfResnet18GivesTheKnownBuckets) {
  const ModelDescription model = Preset("resnet-18");
  EXPECT_THAT(Buckets(model, 25), ElementsAre(2052000, 28852224, 15853824));
  EXPECT_THAT(Buckets(model, 35), ElementsAre(2052000, 38297600, 6408448));
  EXPECT_THAT(Buckets(model, 10), ElementsAre(2052000, 18882560, 14692352, 10501120, 630016));
  EXPECT_THAT(Buckets(model, 100), ElementsAre(2052000, 44706048));
  EXPECT_EQ(Buckets(model, 1).size(), 12U);
}

TEST(ModelPresetsTest, WholeTensorsAreThoseMegatronKeepsWhole) {
  using enum ParameterSplit;
  // Positions; norms and biases of the row-parallel products.
  EXPECT_EQ(ElementsOf(Preset("gpt2"), kNone), 768 * (1024 + 12 * 6 + 2));
  EXPECT_EQ(ElementsOf(Preset("llama3-8b"), kNone), 4096 * (2 * 32 + 1));
  const ModelDescription mixtral = Preset("mixtral-8x7b");
  EXPECT_EQ(ElementsOf(mixtral, kNone), 4096 * (2 * 32 + 1) + 32 * 8 * 4096);  // and routers
  EXPECT_EQ(ElementsOf(mixtral, kExpert), std::int64_t{32} * 8 * 3 * 4096 * 14336);
  const ModelDescription deepseek = Preset("deepseek-v3");
  EXPECT_EQ(ElementsOf(deepseek, kExpert), std::int64_t{58} * 256 * 3 * 7168 * 2048);
  EXPECT_EQ(ElementsOf(deepseek, kNone),
            7168 * (2 * 61 + 1) + 58 * 256 * 7168 + 61 * (7168 * (1536 + 576) + 1536 + 512));
  EXPECT_EQ(ElementsOf(Preset("resnet-50"), kNone), 25'557'032);

  const ModelDescription gpt2 = Preset("gpt2");
  EXPECT_EQ(SplitOf(gpt2, "transformer.wte.weight"), kTensor);
  EXPECT_EQ(SplitOf(gpt2, "transformer.h.0.attn.c_attn.bias"), kTensor);
  EXPECT_EQ(SplitOf(gpt2, "transformer.h.0.attn.c_proj.weight"), kTensor);
  EXPECT_EQ(SplitOf(gpt2, "transformer.h.0.mlp.c_fc.bias"), kTensor);
  EXPECT_EQ(SplitOf(deepseek, "model.layers.60.mlp.shared_experts.up_proj.weight"), kTensor);
  EXPECT_EQ(SplitOf(deepseek, "lm_head.weight"), kTensor);
}

TEST(ModelPresetsTest, FlopsOfGpt2FollowFromItsSizes) {
  const ModelDescription model = Preset("gpt2");
  const double s = 1024;
  const double h = 768;
  EXPECT_EQ(model.units.front().forward_flops, 0);
  EXPECT_EQ(model.units.at(5).forward_flops, 2 * s * 12 * h * h + 2 * s * s * h);
  EXPECT_EQ(model.units.back().forward_flops, 2 * s * 50257 * h);  // though its matrix is tied
}

// Training costs 6 a parameter and token, forward a third of it; the exact rest is attention, the
// embedding, which is looked up, and norms.
TEST(ModelPresetsTest, FlopsOfDenseModelsAreTwoAParameterAndToken) {
  for (const std::string name : {"llama3-8b", "llama3-70b", "llama3-405b"}) {
    const ModelDescription model = Preset(name);
    const TransformerShape& shape = *model.transformer;
    const auto s = static_cast<double>(model.tokens_per_sample);
    const auto h = static_cast<double>(shape.hidden);
    const auto layers = static_cast<double>(shape.layers);
    const double exact = 2 * s *
                             (static_cast<double>(TotalElements(model)) -
                              static_cast<double>(shape.vocabulary) * h - (2 * layers + 1) * h) +
                         layers * 2 * s * s * h;
    EXPECT_DOUBLE_EQ(ForwardFlops(model), exact) << name;
    const double rule = 2 * s * static_cast<double>(TotalElements(model));
    EXPECT_NEAR(ForwardFlops(model), rule, 0.08 * rule) << name;
  }
}

// Published: 13B of Mixtral and 37B of DeepSeek-V3 work on a token.
TEST(ModelPresetsTest, FlopsOfExpertsAreThoseATokenVisits) {
  const double mixtral = ForwardFlops(Preset("mixtral-8x7b", 1)) / 2;
  EXPECT_EQ(std::round(mixtral / 1e9), 13);
  const double deepseek = ForwardFlops(Preset("deepseek-v3", 1)) / 2;
  EXPECT_EQ(std::round(deepseek / 1e9), 37);
  const double attention = 61 * 128 * (192 + 128) / 2.0;  // of one token, halved
  EXPECT_EQ(deepseek - attention, 61 * 187105280.0 + 3 * 396361728.0 +
                                      58 * (9 * 44040192.0 + 256 * 7168) + 129280 * 7168.0);
  const double dense = ForwardFlops(Preset("llama3-405b", 1)) / 2;
  EXPECT_NEAR(dense / deepseek, 11, 0.006 * 11);
}

TEST(ModelPresetsTest, AttentionOfDeepseekCountsBothHeadSizes) {
  const double without = ForwardFlops(Preset("deepseek-v3", 1)) - 61 * 128 * (192 + 128);
  const double s = 4096;
  EXPECT_DOUBLE_EQ(ForwardFlops(Preset("deepseek-v3")),
                   s * without + 61 * s * s * 128 * (192 + 128));
}

// torchvision publishes multiply-adds: 1.814 and 4.089 billions.
TEST(ModelPresetsTest, FlopsOfResnetsAreThePublishedOnes) {
  EXPECT_NEAR(ForwardFlops(Preset("resnet-18")) / 2e9, 1.814, 0.0005);
  EXPECT_NEAR(ForwardFlops(Preset("resnet-50")) / 2e9, 4.089, 0.0005);
  EXPECT_EQ(Preset("resnet-18").units.front().forward_flops, 2.0 * 112 * 112 * 64 * 3 * 49);
  EXPECT_EQ(Preset("resnet-18").tokens_per_sample, 1);
  EXPECT_FALSE(Preset("resnet-18").transformer);
}

// What chapters on training say of these models: bytes of activations and logits in 16 bits.
TEST(ModelPresetsTest, ShapesGiveTheTextbooksActivations) {
  const ModelDescription large = Preset("llama3-405b");
  const TransformerShape& shape = *large.transformer;
  EXPECT_EQ(shape.layers, 126);
  EXPECT_EQ(large.tokens_per_sample * shape.hidden * 2, 268'435'456);
  EXPECT_NEAR(static_cast<double>(large.tokens_per_sample * shape.vocabulary * 2), 2.1e9, 0.005e9);
  const ModelDescription medium = Preset("llama3-70b");
  EXPECT_EQ(medium.tokens_per_sample * medium.transformer->hidden * 2, 134'217'728);
  EXPECT_EQ(medium.transformer->layers * 4, 320);  // all-reduces of a micro-batch
  EXPECT_EQ(medium.transformer->key_value_heads, 8);
  EXPECT_EQ(medium.transformer->head_size, 128);
}

TEST(ModelPresetsTest, AnUnknownNameListsThePresets) {
  try {
    FindModelPreset("llama4");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"llama4\": expected a model, one of gpt2, gpt3-175b"));
    EXPECT_THAT(error.what(), HasSubstr("resnet-50, or a file"));
  }
}

TEST(ModelPresetsTest, TheAttentionsFlopsAreApartOfEveryBlock) {
  const ModelDescription model = ReadModelDescription("llama3-8b", {.tokens_per_sample = 1024});
  const TransformerShape& shape = *model.transformer;
  const auto tokens = static_cast<double>(model.tokens_per_sample);
  const auto hidden = static_cast<double>(shape.hidden);
  const auto keys = static_cast<double>(shape.key_value_heads * shape.head_size);
  // Queries and output are as wide as the model; half of the scores, and of what they weigh.
  const double attention =
      tokens * 2 * hidden * (2 * hidden + 2 * keys) + 2 * tokens * tokens * hidden;
  for (const ModelUnit& unit : model.units) {
    EXPECT_NEAR(unit.attention_flops, unit.is_block ? attention : 0, 1e-9 * attention) << unit.name;
    if (unit.is_block) {
      EXPECT_LT(unit.attention_flops, unit.forward_flops);
    }
  }
}

}  // namespace
}  // namespace hockney
