#include "tuner/training/hf_config.h"

#include <fmt/core.h>

#include "topology/json_reader.h"

namespace hockney {
namespace {

constexpr std::int64_t kMostLayers = 100'000;
constexpr std::int64_t kMostExperts = 1 << 16;
constexpr std::int64_t kMostHeads = 1 << 14;
constexpr std::int64_t kMostWidth = 1 << 20;  // also of a head
constexpr std::int64_t kMostWords = 1 << 26;
constexpr std::int64_t kMostTokens = 1 << 30;

class Reader : private JsonReader {
 public:
  Reader(const nlohmann::ordered_json& root, const std::string& file)
      : JsonReader(file), top_{root, ""} {
    config_.name = file;
  }

  TransformerConfig Read() {
    if (!top_.value.is_object()) Fail(top_, "an object");
    const std::string type =
        Choice(Member(top_, "model_type"),
               {"gpt2", "llama", "mistral", "mixtral", "qwen2", "deepseek_v3"});
    config_.source = fmt::format("Hugging Face config of model_type {}", type);
    config_.type = Type();
    if (type == "gpt2") {
      ReadGpt2();
      return config_;
    }
    ReadSizes();
    if (type == "deepseek_v3") {
      ReadDeepseek();
    } else {
      ReadHeads(type);
    }
    if (type == "mixtral") ReadMixtral();
    ReadBiases(type);
    ReadWindow(type);
    return config_;
  }

 private:
  bool Has(const std::string& key) const {
    return top_.value.contains(key) && !top_.value.at(key).is_null();
  }
  std::int64_t Count(const std::string& key, std::int64_t most, std::int64_t least = 1) const {
    const JsonPlace place = Member(top_, key);
    const auto& value = place.value;
    const double number = value.is_number_integer() ? value.get<double>() : -1;
    const bool fits = number >= static_cast<double>(least) && number <= static_cast<double>(most);
    if (!fits) Fail(place, fmt::format("a whole number from {} to {}", least, most));
    return value.get<std::int64_t>();
  }
  std::int64_t CountOr(const std::string& key, std::int64_t most, std::int64_t otherwise) const {
    return Has(key) ? Count(key, most) : otherwise;
  }
  bool Flag(const std::string& key, bool otherwise) const {
    if (!Has(key)) return otherwise;
    const JsonPlace place = Member(top_, key);
    if (!place.value.is_boolean()) Fail(place, "true or false");
    return place.value.get<bool>();
  }
  DataType Type() const {
    const std::string key = Has("dtype") ? "dtype" : "torch_dtype";
    if (!Has(key)) return DataType::kFloat32;
    return *ParseDataType(Choice(Member(top_, key), {"float64", "float32", "bfloat16", "float16"}));
  }

  void ReadGpt2() {
    config_.family = TransformerFamily::kGpt2;
    config_.layers = Count("n_layer", kMostLayers);
    config_.hidden = Count("n_embd", kMostWidth);
    config_.feed_forward = CountOr("n_inner", kMostWidth, 4 * config_.hidden);
    config_.heads = config_.key_value_heads = Count("n_head", kMostHeads);
    config_.head_size = DividedBy("n_head", config_.hidden, "n_embd");
    config_.vocabulary = Count("vocab_size", kMostWords);
    config_.positions = config_.tokens_per_sample = Count("n_positions", kMostTokens);
    config_.tied_head = Flag("tie_word_embeddings", true);
    if (Flag("add_cross_attention", false)) {
      Fail(Member(top_, "add_cross_attention"), "false: a model without an encoder");
    }
  }

  void ReadSizes() {
    config_.layers = Count("num_hidden_layers", kMostLayers);
    config_.hidden = Count("hidden_size", kMostWidth);
    config_.feed_forward = Count("intermediate_size", kMostWidth);
    config_.heads = Count("num_attention_heads", kMostHeads);
    config_.vocabulary = Count("vocab_size", kMostWords);
    config_.tokens_per_sample = Count("max_position_embeddings", kMostTokens);
    config_.tied_head = Flag("tie_word_embeddings", false);
  }

  void ReadHeads(const std::string& type) {
    config_.head_size = Has("head_dim")
                            ? Count("head_dim", kMostWidth)
                            : DividedBy("num_attention_heads", config_.hidden, "hidden_size");
    // Llama is older than shared keys and values; the others have defaults that are sizes.
    const std::string key = "num_key_value_heads";
    const bool none = !Has(key) && (type == "llama" || top_.value.contains(key));
    config_.key_value_heads = none ? config_.heads : Count(key, kMostHeads);
    if (!none) DividedBy(key, config_.heads, "num_attention_heads");
  }

  void ReadMixtral() {
    config_.family = TransformerFamily::kMixtral;
    config_.experts =
        TransformerConfig::Experts{.routed = Count("num_local_experts", kMostExperts),
                                   .per_token = Count("num_experts_per_tok", kMostExperts),
                                   .feed_forward = config_.feed_forward};
    CheckPerToken("num_local_experts");
  }

  void ReadDeepseek() {
    config_.family = TransformerFamily::kDeepseekV3;
    config_.key_value_heads = config_.heads;
    TransformerConfig::Latent latent{.query_rank = CountOr("q_lora_rank", kMostWidth, 0),
                                     .key_value_rank = Count("kv_lora_rank", kMostWidth),
                                     .plain_head_size = Count("qk_nope_head_dim", kMostWidth),
                                     .rotary_head_size = Count("qk_rope_head_dim", kMostWidth),
                                     .value_head_size = Count("v_head_dim", kMostWidth)};
    config_.head_size = latent.plain_head_size + latent.rotary_head_size;
    config_.latent = latent;
    config_.experts = TransformerConfig::Experts{
        .routed = Count("n_routed_experts", kMostExperts),
        .per_token = Count("num_experts_per_tok", kMostExperts),
        .shared = Has("n_shared_experts") ? Count("n_shared_experts", kMostExperts, 0) : 0,
        .feed_forward = Count("moe_intermediate_size", kMostWidth),
        .dense_layers = Count("first_k_dense_replace", config_.layers, 0)};
    CheckPerToken("n_routed_experts");
  }

  void ReadBiases(const std::string& type) {
    if (type == "llama" || type == "deepseek_v3") {
      config_.query_bias = config_.output_bias = Flag("attention_bias", false);
    }
    if (type == "qwen2") config_.query_bias = true;  // not by a key
    if (type == "llama") config_.feed_forward_bias = Flag("mlp_bias", false);
  }

  void ReadWindow(const std::string& type) {
    const std::string key = "sliding_window";
    if (type == "mistral" || type == "mixtral") {
      // The class of Mistral has a window unless the file says null.
      const std::int64_t missing = type == "mistral" && !top_.value.contains(key) ? 4096 : 0;
      config_.window = CountOr(key, kMostTokens, missing);
    } else if (type == "qwen2" && Flag("use_sliding_window", false)) {
      config_.window = CountOr(key, kMostTokens, 0);
      config_.first_window_layer = Count("max_window_layers", kMostLayers, 0);
    }
  }

  std::int64_t DividedBy(const std::string& key, std::int64_t whole,
                         const std::string& whole_key) const {
    const std::int64_t parts = Count(key, kMostHeads);
    if (whole % parts != 0) {
      Fail(Member(top_, key), fmt::format("a divisor of {}, which is {}", whole_key, whole));
    }
    return whole / parts;
  }
  void CheckPerToken(const std::string& key) const {
    if (config_.experts->per_token > config_.experts->routed) {
      Fail(Member(top_, "num_experts_per_tok"),
           fmt::format("at most {}, which is {}", key, config_.experts->routed));
    }
  }

  JsonPlace top_;
  TransformerConfig config_;
};

}  // namespace

TransformerConfig ParseHuggingFaceConfig(std::string_view text, const std::string& file) {
  const nlohmann::ordered_json root = ParseJsonInput(text, file);
  return Reader(root, file).Read();
}

}  // namespace hockney
