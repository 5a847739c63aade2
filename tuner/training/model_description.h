#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/types.h"

namespace hockney {

// How a tensor is shared out where a model is split within a layer. The rest is on every rank.
enum class ParameterSplit : std::uint8_t {
  kNone,    // norms, biases of the outputs of a row-parallel product, routers
  kTensor,  // over the tensor-parallel ranks
  kExpert,  // belongs to one expert: over the expert-parallel ranks, and tensor-parallel within it
};

// One trainable tensor. Frameworks make buckets of these, never of parts of them.
struct ModelParameter {
  std::string name;
  std::vector<std::int64_t> shape;  // empty: a scalar
  DataType type = DataType::kFloat32;
  ParameterSplit split = ParameterSplit::kNone;
};

// The product of the shape.
std::int64_t Elements(const ModelParameter& parameter);
std::int64_t Bytes(const ModelParameter& parameter);

// A part of the model that runs as a whole and that sharding and pipelines move as a whole: the
// embedding, one block, the head. Its parameters are those from first_parameter on, in the order of
// registration.
struct ModelUnit {
  std::string name;
  std::int64_t first_parameter = 0;
  std::int64_t parameters = 0;
  double forward_flops =
      0;  // of one sample, 2 per multiply-add; the backward pass counts twice this
  double attention_flops = 0;  // of these, the attention's: its products and the scores
  bool is_block =
      false;  // one of the repeated layers; others stay on the first or the last pipeline stage
};

// What collectives within a layer need to know of a transformer.
struct TransformerShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t head_size = 0;     // of queries and keys
  std::int64_t feed_forward = 0;  // of the layers without experts
  std::int64_t vocabulary = 0;
  std::int64_t experts = 0;            // per layer; 0: dense
  std::int64_t experts_per_token = 0;  // routed ones
  std::int64_t shared_experts = 0;     // which every token visits
  std::int64_t expert_feed_forward = 0;
  std::int64_t dense_layers = 0;  // the first ones, which have no experts; 0 where no layer has any
};

// A model as the training step sees it: what is reduced, in which order, and how much is computed.
struct ModelDescription {
  std::string name;
  std::string source;                      // where the numbers are from, for reports
  std::vector<ModelParameter> parameters;  // in order of registration
  std::vector<ModelUnit> units;        // in forward order; together they hold every parameter once
  std::int64_t tokens_per_sample = 1;  // sequence length; 1 for images
  std::optional<TransformerShape> transformer;
};

std::int64_t TotalElements(const ModelDescription& model);
std::int64_t TotalBytes(const ModelDescription& model);

}  // namespace hockney
