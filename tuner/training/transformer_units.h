#pragma once

#include "tuner/training/model_description.h"
#include "tuner/training/transformer_config.h"

namespace hockney {

// Returns the transformer: names, shapes and order as model.parameters() of Hugging Face's
// ...ForCausalLM gives them (transformers 4.x: a tensor for each expert; 5.x merges those of a
// layer). DeepSeek's router bias (e_score_correction_bias) is a buffer there, so it is left out.
//
// Tensor-parallel splits are Megatron-LM's: columns of the first products of a block and their
// biases, rows of the last ones, the vocabulary of embedding and head. Whole are norms, positions,
// routers, biases of row-parallel products and the products down to the ranks of latent attention.
//
// forward_flops: 2 x elements x tokens of every matrix; of routed experts what the tokens visit,
// evenly; the head even where it is tied; lookups, norms and softmax are not counted. Attention is
// 2 s^2 x (query + value size) x heads, halved because it is causal, as a kernel computes it that
// leaves out what is masked: 2 s^2 h a layer where both sizes are h / heads; kernels that do not
// compute twice that. A window of w tokens counts s^2/2 - (s-w)^2/2 pairs.
//
// Throws InputError, naming the model, for more parameters or tensors than ModelBuilder takes, and
// where tokens_per_sample exceeds the learned positions.
ModelDescription DescribeTransformer(const TransformerConfig& config);

}  // namespace hockney
