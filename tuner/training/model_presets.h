#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tuner/training/resnet.h"
#include "tuner/training/transformer_config.h"

namespace hockney {

// The names of the built-in models, those of a family together.
std::vector<std::string> ListModelPresets();

using ModelConfig = std::variant<TransformerConfig, ResnetConfig>;

// Returns the built-in model of that name: float32, samples as long as those of its pretraining.
// Throws InputError listing the names, for people who may name a file instead.
ModelConfig FindModelPreset(const std::string& name);

}  // namespace hockney
