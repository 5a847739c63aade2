#include "tuner/training/model_builder.h"

#include <fmt/core.h>

#include "topology/check.h"

namespace hockney {
namespace {

constexpr double kMostElements = 0x1p56;
constexpr std::size_t kMostTensors = 1'000'000;

}  // namespace

ModelBuilder::ModelBuilder(std::string name, std::string source) {
  model_.name = std::move(name);
  model_.source = std::move(source);
}

void ModelBuilder::BeginUnit(std::string name, bool is_block) {
  model_.units.push_back({.name = std::move(name),
                          .first_parameter = std::ssize(model_.parameters),
                          .is_block = is_block});
}

void ModelBuilder::Add(ModelParameter parameter) {
  // Not Elements(), which overflows for mistaken shapes.
  double elements = 1;
  for (const std::int64_t size : parameter.shape) elements *= static_cast<double>(size);
  elements_ += elements;
  if (elements_ > kMostElements || model_.parameters.size() == kMostTensors) {
    throw InputError(fmt::format("{}: {}: expected at most {:.0f} parameters in {} tensors",
                                 model_.name, parameter.name, kMostElements, kMostTensors));
  }
  model_.parameters.push_back(std::move(parameter));
  ++model_.units.back().parameters;
}

}  // namespace hockney
