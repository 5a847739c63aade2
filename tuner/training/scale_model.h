#pragma once

#include <string_view>

#include "tuner/training/transformer_config.h"

namespace hockney {

// Returns the model at other sizes, for trials on small machines: `scale` is "layers=4,hidden=256",
// keys layers, hidden, ffn, heads, kv_heads, vocab and experts. What is not given follows: with
// hidden, ffn (of experts too), the width of all heads and the ranks of latent attention keep their
// ratio to it; the size of a head stays, so their number changes, but where heads are given and
// attention is not latent, that width is divided among them; kv_heads keep their ratio to heads,
// rounded down to a divisor; experts per token are at most the experts; at least one layer keeps
// its experts. The name tells the scale.
//
// Throws InputError, naming key and value, for other keys, keys given twice, values that are no
// whole number from 1 to 67108864, heads that do not divide, and what the model does not have.
TransformerConfig ScaleModel(const TransformerConfig& config, std::string_view scale);

}  // namespace hockney
