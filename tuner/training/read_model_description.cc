#include "tuner/training/read_model_description.h"

#include <fmt/core.h>

#include <variant>

#include "topology/check.h"
#include "topology/input_file.h"
#include "tuner/training/hf_config.h"
#include "tuner/training/model_presets.h"
#include "tuner/training/parameter_csv.h"
#include "tuner/training/scale_model.h"
#include "tuner/training/transformer_units.h"

namespace hockney {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;

void RefuseScale(const std::string& text, const ModelOptions& options, const char* reason) {
  if (options.scale.empty()) return;
  throw InputError(
      fmt::format("{}: scale \"{}\": expected none: {}, only the configuration of a "
                  "transformer can be scaled",
                  text, options.scale, reason));
}

ModelDescription Describe(TransformerConfig config, const ModelOptions& options) {
  if (!options.scale.empty()) config = ScaleModel(config, options.scale);
  if (options.tokens_per_sample > 0) config.tokens_per_sample = options.tokens_per_sample;
  config.type = options.type.value_or(config.type);
  return DescribeTransformer(config);
}

ModelDescription Describe(ResnetConfig config, const ModelOptions& options) {
  RefuseScale(config.name, options, "it is a network for images");
  if (options.tokens_per_sample > 0) {
    throw InputError(
        fmt::format("{}: a sequence length of {}: expected none, its samples are images",
                    config.name, options.tokens_per_sample));
  }
  config.type = options.type.value_or(config.type);
  return DescribeResnet(config);
}

}  // namespace

ModelDescription ReadModelDescription(const std::string& text, const ModelOptions& options) {
  if (options.tokens_per_sample < 0 || options.tokens_per_sample > kMostTokens) {
    throw InputError(
        fmt::format("a sequence length of {}: expected 1 to {}, or 0 for the model's own",
                    options.tokens_per_sample, kMostTokens));
  }
  if (text.ends_with(".csv")) {
    RefuseScale(text, options, "a list of parameters says nothing of layers and heads");
    return ParseParameterCsv(
        ReadInputFile(text), text,
        {.tokens_per_sample = options.tokens_per_sample > 0 ? options.tokens_per_sample : 1,
         .type = options.type});
  }
  if (text.ends_with(".json")) {
    return Describe(ParseHuggingFaceConfig(ReadInputFile(text), text), options);
  }
  return std::visit([&options](const auto& config) { return Describe(config, options); },
                    FindModelPreset(text));
}

}  // namespace hockney
