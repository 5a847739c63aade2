#pragma once

#include <string>
#include <string_view>

#include "tuner/training/transformer_config.h"

namespace hockney {

// Reads a Hugging Face config.json of model_type gpt2, llama, mistral, mixtral, qwen2 or
// deepseek_v3, as its ...ForCausalLM of transformers 4.x would be built. The type is that of
// "dtype" or "torch_dtype", float32 without; samples are as long as the model's positions allow;
// keys that change neither tensors nor work are skipped, quantization too: training has the
// parameters in the type above. `file` becomes the name. Keys that are missing have the defaults of
// transformers where these are no sizes.
//
// Throws InputError `<file>:<line>:<column>: ...` for what is no JSON and `<file>: <key>: <value>:
// expected ...` for other model types, missing sizes, sizes that are no whole numbers, below 1 or
// absurdly large, and heads that do not divide.
TransformerConfig ParseHuggingFaceConfig(std::string_view text, const std::string& file);

}  // namespace hockney
