#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tuner/training/model_description.h"

namespace hockney::testing {

// The parameters of torchvision's ResNet-18 in their order of registration: 62 tensors, 11689512
// float32. Source: He et al., "Deep residual learning for image recognition", table 1.
inline std::vector<ModelParameter> ResNet18Parameters() {
  std::vector<ModelParameter> parameters;
  const auto add = [&](std::string name, std::vector<std::int64_t> shape) {
    parameters.push_back({std::move(name), std::move(shape), DataType::kFloat32});
  };
  const auto add_norm = [&](const std::string& name, std::int64_t channels) {
    add(name + ".weight", {channels});
    add(name + ".bias", {channels});
  };
  add("conv1.weight", {64, 3, 7, 7});
  add_norm("bn1", 64);
  std::int64_t from = 64;
  for (std::int64_t layer = 1; layer <= 4; ++layer) {
    const std::int64_t channels = std::int64_t{32} << layer;
    for (int block = 0; block < 2; ++block) {
      const std::string name = "layer" + std::to_string(layer) + "." + std::to_string(block);
      add(name + ".conv1.weight", {channels, from, 3, 3});
      add_norm(name + ".bn1", channels);
      add(name + ".conv2.weight", {channels, channels, 3, 3});
      add_norm(name + ".bn2", channels);
      if (from != channels) {
        add(name + ".downsample.0.weight", {channels, from, 1, 1});
        add_norm(name + ".downsample.1", channels);
      }
      from = channels;
    }
  }
  add("fc.weight", {1000, 512});
  add("fc.bias", {1000});
  return parameters;
}

}  // namespace hockney::testing
