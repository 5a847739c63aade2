#include "tuner/training/model_presets.h"

#include <fmt/format.h>

#include "topology/check.h"

namespace hockney {
namespace {

TransformerConfig Gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                      std::int64_t positions) {
  return {.family = TransformerFamily::kGpt2,
          .tokens_per_sample = positions,
          .layers = layers,
          .hidden = hidden,
          .feed_forward = 4 * hidden,
          .heads = heads,
          .key_value_heads = heads,
          .head_size = hidden / heads,
          .vocabulary = 50257,
          .positions = positions,
          .tied_head = true};
}

// Half of its layers attend to a band of tokens only, of a width that is not published: they count
// as the others.
TransformerConfig Gpt3() {
  TransformerConfig config = Gpt(96, 12288, 96, 2048);
  config.source = "Brown et al. 2020, arXiv 2005.14165, table 2.1; laid out as GPT-2";
  return config;
}

TransformerConfig Gpt2() {
  TransformerConfig config = Gpt(12, 768, 12, 1024);
  config.source = "openai-community/gpt2, config.json";
  return config;
}

TransformerConfig Llama3(std::int64_t layers, std::int64_t hidden, std::int64_t feed_forward,
                         std::int64_t heads) {
  return {.source = "Llama 3, arXiv 2407.21783, table 3 and section 3.4.1",
          .family = TransformerFamily::kLlama,
          .tokens_per_sample = 8192,
          .layers = layers,
          .hidden = hidden,
          .feed_forward = feed_forward,
          .heads = heads,
          .key_value_heads = 8,
          .head_size = hidden / heads,
          .vocabulary = 128256};
}

TransformerConfig Mixtral() {
  return {
      .source = "Jiang et al. 2024, arXiv 2401.04088, table 1",
      .family = TransformerFamily::kMixtral,
      .tokens_per_sample = 32768,
      .layers = 32,
      .hidden = 4096,
      .feed_forward = 14336,
      .heads = 32,
      .key_value_heads = 8,
      .head_size = 128,
      .vocabulary = 32000,
      .experts = TransformerConfig::Experts{.routed = 8, .per_token = 2, .feed_forward = 14336}};
}

// Without the module that predicts a second token.
TransformerConfig DeepseekV3() {
  return {.source = "DeepSeek-V3, arXiv 2412.19437, section 4.2",
          .family = TransformerFamily::kDeepseekV3,
          .tokens_per_sample = 4096,
          .layers = 61,
          .hidden = 7168,
          .feed_forward = 18432,
          .heads = 128,
          .key_value_heads = 128,
          .head_size = 192,
          .vocabulary = 129280,
          .latent = TransformerConfig::Latent{.query_rank = 1536,
                                              .key_value_rank = 512,
                                              .plain_head_size = 128,
                                              .rotary_head_size = 64,
                                              .value_head_size = 128},
          .experts = TransformerConfig::Experts{
              .routed = 256, .per_token = 8, .shared = 1, .feed_forward = 2048, .dense_layers = 3}};
}

ResnetConfig Resnet(std::array<std::int64_t, 4> blocks, bool bottleneck) {
  return {.source = "He et al. 2015, arXiv 1512.03385, table 1; laid out as in torchvision",
          .blocks = blocks,
          .bottleneck = bottleneck};
}

struct Preset {
  const char* name;
  ModelConfig config;
};

std::vector<Preset> Presets() {
  return {{"gpt2", Gpt2()},
          {"gpt3-175b", Gpt3()},
          {"llama3-8b", Llama3(32, 4096, 14336, 32)},
          {"llama3-70b", Llama3(80, 8192, 28672, 64)},
          {"llama3-405b", Llama3(126, 16384, 53248, 128)},
          {"mixtral-8x7b", Mixtral()},
          {"deepseek-v3", DeepseekV3()},
          {"resnet-18", Resnet({2, 2, 2, 2}, false)},
          {"resnet-50", Resnet({3, 4, 6, 3}, true)}};
}

}  // namespace

std::vector<std::string> ListModelPresets() {
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) names.emplace_back(preset.name);
  return names;
}

ModelConfig FindModelPreset(const std::string& name) {
  for (Preset& preset : Presets()) {
    if (preset.name != name) continue;
    std::visit([&name](auto& config) { config.name = name; }, preset.config);
    return std::move(preset.config);
  }
  throw InputError(fmt::format(
      "\"{}\": expected a model, one of {}, or a file: a Hugging Face config ending in .json, a "
      "list of parameters ending in .csv",
      name, fmt::join(ListModelPresets(), ", ")));
}

}  // namespace hockney
