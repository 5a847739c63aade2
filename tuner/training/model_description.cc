#include "tuner/training/model_description.h"

#include <functional>
#include <numeric>

namespace hockney {

std::int64_t Elements(const ModelParameter& parameter) {
  return std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

std::int64_t Bytes(const ModelParameter& parameter) {
  return Elements(parameter) * static_cast<std::int64_t>(ElementBytes(parameter.type));
}

std::int64_t TotalElements(const ModelDescription& model) {
  std::int64_t elements = 0;
  for (const ModelParameter& parameter : model.parameters) elements += Elements(parameter);
  return elements;
}

std::int64_t TotalBytes(const ModelDescription& model) {
  std::int64_t bytes = 0;
  for (const ModelParameter& parameter : model.parameters) bytes += Bytes(parameter);
  return bytes;
}

}  // namespace hockney
