#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collectives/types.h"

namespace hockney {

// How the tensors are named, laid out and ordered.
enum class TransformerFamily : std::uint8_t {
  kGpt2,        // learned positions, fused queries, keys and values, weights [in, out]
  kLlama,       // Llama, Mistral, Qwen2: rotary positions, gated feed-forward, weights [out, in]
  kMixtral,     // Llama's attention, experts instead of the feed-forward part
  kDeepseekV3,  // latent attention, the first layers dense, then routed and shared experts
};

// The numbers that a decoder-only transformer follows from: what presets and config.json files say
// and what is scaled. All counts are at least 1 but where 0 is explained.
struct TransformerConfig {
  // Queries, keys and values go through vectors of lower rank. Source: DeepSeek-V2, arXiv
  // 2405.04434, section 2.1.
  struct Latent {
    std::int64_t query_rank = 0;  // 0: queries are computed directly
    std::int64_t key_value_rank = 0;
    std::int64_t plain_head_size = 0;   // of queries and keys, the part without positions
    std::int64_t rotary_head_size = 0;  // the part with positions; keys share it among all heads
    std::int64_t value_head_size = 0;
  };
  struct Experts {
    std::int64_t routed = 0;
    std::int64_t per_token = 0;
    std::int64_t shared = 0;  // as one feed-forward part of that many times the width; 0: none
    std::int64_t feed_forward = 0;
    std::int64_t dense_layers = 0;  // the first ones, which have none
  };

  std::string name = {};
  std::string source = {};
  TransformerFamily family = TransformerFamily::kLlama;
  DataType type = DataType::kFloat32;
  std::int64_t tokens_per_sample = 1;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t head_size = 0;  // of queries and keys, with Latent of both parts together
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  // learned ones; 0: rotary
  bool tied_head = false;      // the head uses the embedding's tensor
  bool query_bias = false;     // of queries, keys and values; with Latent of what makes the ranks
  bool output_bias = false;    // of the attention's last product
  bool feed_forward_bias = false;
  std::int64_t window = 0;              // tokens that a token attends to; 0: all before it
  std::int64_t first_window_layer = 0;  // layers before it attend to all
  std::optional<Latent> latent = {};
  std::optional<Experts> experts = {};
};

}  // namespace hockney
