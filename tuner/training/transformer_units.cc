#include "tuner/training/transformer_units.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "topology/check.h"
#include "tuner/training/model_builder.h"

namespace hockney {
namespace {

using enum ParameterSplit;

// A matrix product of a block, with its bias.
struct Product {
  std::string name;
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = false;
};

class Writer {
 public:
  explicit Writer(const TransformerConfig& config)
      : config_(config),
        tokens_(static_cast<double>(config.tokens_per_sample)),
        builder_(config.name, config.source) {}

  ModelDescription Write() && {
    const bool gpt2 = config_.family == TransformerFamily::kGpt2;
    WriteEmbedding();
    for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::string name = fmt::format("{}.{}", gpt2 ? "transformer.h" : "model.layers", layer);
      builder_.BeginUnit(name, true);
      prefix_ = name + ".";
      if (gpt2) {
        WriteGpt2Block(layer);
      } else {
        WriteLlamaBlock(layer);
      }
    }
    WriteHead();
    ModelDescription model = std::move(builder_).Take();
    model.tokens_per_sample = config_.tokens_per_sample;
    model.transformer = Shape();
    return model;
  }

 private:
  void WriteEmbedding() {
    builder_.BeginUnit("embedding", false);
    if (config_.family == TransformerFamily::kGpt2) {
      Add("transformer.wte.weight", {config_.vocabulary, config_.hidden}, kTensor);
      Add("transformer.wpe.weight", {config_.positions, config_.hidden}, kNone);
    } else {
      Add("model.embed_tokens.weight", {config_.vocabulary, config_.hidden}, kTensor);
    }
  }

  void WriteHead() {
    builder_.BeginUnit("head", false);
    prefix_ = "";
    if (config_.family == TransformerFamily::kGpt2) {
      LayerNorm("transformer.ln_f");
    } else {
      Norm("model.norm", config_.hidden);
    }
    const Product head{"lm_head", config_.hidden, config_.vocabulary};
    if (config_.tied_head) {
      AddProductFlops(head);
    } else {
      Column(head);
    }
  }

  // Order as in modeling_gpt2.py; its Conv1D holds [in, out].
  void WriteGpt2Block(std::int64_t layer) {
    const std::int64_t hidden = config_.hidden;
    LayerNorm("ln_1");
    Conv1d({"attn.c_attn", hidden, 3 * hidden, true}, kTensor);
    Conv1d({"attn.c_proj", hidden, hidden, true}, kNone);
    EndAttention(layer);
    LayerNorm("ln_2");
    Conv1d({"mlp.c_fc", hidden, config_.feed_forward, true}, kTensor);
    Conv1d({"mlp.c_proj", config_.feed_forward, hidden, true}, kNone);
  }

  // Order as in modeling_llama.py, _mistral, _qwen2, _mixtral and _deepseek_v3.py: the norms come
  // last.
  void WriteLlamaBlock(std::int64_t layer) {
    if (config_.latent) {
      WriteLatentAttention();
    } else {
      WriteAttention();
    }
    EndAttention(layer);
    if (!config_.experts || layer < config_.experts->dense_layers) {
      WriteFeedForward("mlp", config_.feed_forward);
    } else if (config_.family == TransformerFamily::kMixtral) {
      WriteMixtralExperts();
    } else {
      WriteDeepseekExperts();
    }
    Norm("input_layernorm", config_.hidden);
    Norm("post_attention_layernorm", config_.hidden);
  }

  void WriteAttention() {
    const std::int64_t hidden = config_.hidden;
    const std::int64_t queries = config_.heads * config_.head_size;
    const std::int64_t keys = config_.key_value_heads * config_.head_size;
    Column({"self_attn.q_proj", hidden, queries, config_.query_bias});
    Column({"self_attn.k_proj", hidden, keys, config_.query_bias});
    Column({"self_attn.v_proj", hidden, keys, config_.query_bias});
    Row({"self_attn.o_proj", queries, hidden, config_.output_bias});
  }

  void WriteLatentAttention() {
    const TransformerConfig::Latent& latent = *config_.latent;
    const std::int64_t hidden = config_.hidden;
    const std::int64_t heads = config_.heads;
    const std::int64_t queries = heads * config_.head_size;
    if (latent.query_rank == 0) {
      Column({"self_attn.q_proj", hidden, queries});
    } else {
      Whole({"self_attn.q_a_proj", hidden, latent.query_rank, config_.query_bias});
      Norm("self_attn.q_a_layernorm", latent.query_rank);
      Column({"self_attn.q_b_proj", latent.query_rank, queries});
    }
    const std::int64_t rank = latent.key_value_rank;
    Whole({"self_attn.kv_a_proj_with_mqa", hidden, rank + latent.rotary_head_size,
           config_.query_bias});
    Norm("self_attn.kv_a_layernorm", rank);
    Column(
        {"self_attn.kv_b_proj", rank, heads * (latent.plain_head_size + latent.value_head_size)});
    Row({"self_attn.o_proj", heads * latent.value_head_size, hidden, config_.output_bias});
  }

  void WriteFeedForward(const std::string& name, std::int64_t width) {
    Column({name + ".gate_proj", config_.hidden, width, config_.feed_forward_bias});
    Column({name + ".up_proj", config_.hidden, width, config_.feed_forward_bias});
    Row({name + ".down_proj", width, config_.hidden, config_.feed_forward_bias});
  }

  // Order as in transformers 4.x, modeling_mixtral.py: the router first, and w2, the product down,
  // between the two up.
  void WriteMixtralExperts() {
    const std::int64_t hidden = config_.hidden;
    const std::int64_t width = config_.experts->feed_forward;
    Whole({"block_sparse_moe.gate", hidden, config_.experts->routed});
    for (std::int64_t expert = 0; expert < config_.experts->routed; ++expert) {
      const std::string name = fmt::format("block_sparse_moe.experts.{}.", expert);
      OfExpert({name + "w1", hidden, width});
      OfExpert({name + "w2", width, hidden});
      OfExpert({name + "w3", hidden, width});
    }
  }

  // Order as in transformers 4.x, modeling_deepseek_v3.py: the router behind the routed experts.
  void WriteDeepseekExperts() {
    const TransformerConfig::Experts& experts = *config_.experts;
    const std::int64_t hidden = config_.hidden;
    for (std::int64_t expert = 0; expert < experts.routed; ++expert) {
      const std::string name = fmt::format("mlp.experts.{}.", expert);
      OfExpert({name + "gate_proj", hidden, experts.feed_forward});
      OfExpert({name + "up_proj", hidden, experts.feed_forward});
      OfExpert({name + "down_proj", experts.feed_forward, hidden});
    }
    Whole({"mlp.gate", hidden, experts.routed});
    if (experts.shared > 0) {
      WriteFeedForward("mlp.shared_experts", experts.shared * experts.feed_forward);
    }
  }

  void Norm(const std::string& name, std::int64_t size) { Add(name + ".weight", {size}, kNone); }
  void LayerNorm(const std::string& name) {
    Norm(name, config_.hidden);
    Add(name + ".bias", {config_.hidden}, kNone);
  }

  void Column(const Product& product) { Linear(product, kTensor, kTensor); }
  void Row(const Product& product) { Linear(product, kTensor, kNone); }
  void Whole(const Product& product) { Linear(product, kNone, kNone); }
  void Linear(const Product& product, ParameterSplit weight, ParameterSplit bias) {
    Add(product.name + ".weight", {product.out, product.in}, weight);
    if (product.bias) Add(product.name + ".bias", {product.out}, bias);
    AddProductFlops(product);
  }
  void Conv1d(const Product& product, ParameterSplit bias) {
    Add(product.name + ".weight", {product.in, product.out}, kTensor);
    Add(product.name + ".bias", {product.out}, bias);
    AddProductFlops(product);
  }
  void OfExpert(const Product& product) {
    Add(product.name + ".weight", {product.out, product.in}, kExpert);
    AddProductFlops(product, static_cast<double>(config_.experts->per_token) /
                                 static_cast<double>(config_.experts->routed));
  }

  void Add(const std::string& name, std::vector<std::int64_t> shape, ParameterSplit split) {
    builder_.Add(
        {.name = prefix_ + name, .shape = std::move(shape), .type = config_.type, .split = split});
  }
  void AddProductFlops(const Product& product, double share_of_tokens = 1) {
    builder_.AddFlops(2 * static_cast<double>(product.in) * static_cast<double>(product.out) *
                      tokens_ * share_of_tokens);
  }

  void EndAttention(std::int64_t layer) {
    builder_.AddFlops(ScoreFlops(layer));
    builder_.EndAttention();
  }

  // Of the scores and of what they weigh.
  double ScoreFlops(std::int64_t layer) const {
    const bool windowed = config_.window > 0 && layer >= config_.first_window_layer;
    const double outside =
        windowed ? std::max(0.0, tokens_ - static_cast<double>(config_.window)) : 0;
    const double pairs = (tokens_ * tokens_ - outside * outside) / 2;
    const std::int64_t value_size =
        config_.latent ? config_.latent->value_head_size : config_.head_size;
    return 2 * pairs * static_cast<double>(config_.heads) *
           static_cast<double>(config_.head_size + value_size);
  }

  TransformerShape Shape() const {
    TransformerShape shape{.layers = config_.layers,
                           .hidden = config_.hidden,
                           .heads = config_.heads,
                           .key_value_heads = config_.key_value_heads,
                           .head_size = config_.head_size,
                           .feed_forward = config_.feed_forward,
                           .vocabulary = config_.vocabulary};
    if (config_.experts) {
      shape.experts = config_.experts->routed;
      shape.experts_per_token = config_.experts->per_token;
      shape.shared_experts = config_.experts->shared;
      shape.expert_feed_forward = config_.experts->feed_forward;
      shape.dense_layers = config_.experts->dense_layers;
    }
    return shape;
  }

  const TransformerConfig& config_;
  double tokens_;
  ModelBuilder builder_;
  std::string prefix_;
};

}  // namespace

ModelDescription DescribeTransformer(const TransformerConfig& config) {
  if (config.positions > 0 && config.tokens_per_sample > config.positions) {
    throw InputError(
        fmt::format("{}: a sequence length of {}: expected at most {}, its learned positions",
                    config.name, config.tokens_per_sample, config.positions));
  }
  return Writer(config).Write();
}

}  // namespace hockney
