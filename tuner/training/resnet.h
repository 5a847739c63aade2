#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tuner/training/model_description.h"

namespace hockney {

// A residual network for ImageNet: 224x224 pixels, 1000 classes.
struct ResnetConfig {
  std::string name = {};
  std::string source = {};
  std::array<std::int64_t, 4> blocks = {};  // of each stage
  bool bottleneck = false;  // blocks of 1x1, 3x3 and 1x1 convolutions, else of two 3x3
  DataType type = DataType::kFloat32;
};

// Returns the network: names, shapes and order as model.parameters() of torchvision's gives them;
// units are the stem, the residual blocks and the classifier, nothing is split. forward_flops: 2 x
// the multiply-adds of convolutions and classifier of one image; in bottlenecks the 3x3 convolution
// has the stride, as in torchvision. Norms, pooling and activations are not counted.
ModelDescription DescribeResnet(const ResnetConfig& config);

}  // namespace hockney
