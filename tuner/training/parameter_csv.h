#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/training/model_description.h"

namespace hockney {

struct ParameterCsvOptions {
  std::int64_t tokens_per_sample = 1;
  std::optional<DataType> type = {};  // of all parameters, whatever the file says
};

// Reads a list of parameters, for models that are neither built in nor Hugging Face's: columns
// name, shape (64x3x7x7) and dtype (bfloat16, torch.float32, ...), and, if the rows do not stand in
// the order of registration, order (whole numbers, ascending in that order). Spaces around fields,
// a byte order mark and CRLF do not matter. `file` becomes the name.
//
// The unit of a parameter is the module that its name begins with, up to the first part that is a
// number: of "model.layers.3.mlp.experts.7.w1.weight" it is "model.layers.3", which is_block.
// Neighbours without such a part make a unit that is no block, called after the module of the first
// of them. The last part is the tensor's own name and does not count; parts end at . or /.
// forward_flops are 2 x elements x tokens of every tensor with 2 dimensions or more: right for
// matrices, too high for embeddings, too low for convolutions. Nothing is split.
//
// Throws InputError `<file>:<line>:<column>: ...` for other or missing columns, no rows ("no
// parameters"), names given twice, dimensions that are no whole number from 1 to 2^40, tensors
// above 2^53 elements, types that are no floating-point type, and orders given twice; and as
// ModelBuilder does for too many.
ModelDescription ParseParameterCsv(const std::string& text, const std::string& file,
                                   const ParameterCsvOptions& options);

}  // namespace hockney
