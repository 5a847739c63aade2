#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/training/model_description.h"

namespace hockney {

struct ModelOptions {
  std::int64_t tokens_per_sample = 0;  // sequence length; 0: the model's own
  std::optional<DataType> type = {};   // of all parameters; without: the model's own
  std::string scale = {};              // "layers=4,hidden=256", see ScaleModel; empty: as it is
};

// Returns the model that a user names: one of ListModelPresets(), a Hugging Face config ending in
// .json, or a list of parameters ending in .csv (one token a sample without the option). Throws
// InputError as the readers and DescribeTransformer do; for files that cannot be read, unknown
// names, a sequence length that is negative, above 2^30 or given for images, and a scale for what
// is no transformer's configuration.
ModelDescription ReadModelDescription(const std::string& text, const ModelOptions& options);

}  // namespace hockney
