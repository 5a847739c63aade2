#pragma once

#include <span>
#include <string_view>

namespace hockney {

// A file of topology/clusters as it was when this was built.
struct ClusterText {
  std::string_view file = {};
  std::string_view text = {};
};

// Written by CMake from cluster_texts.cc.in.
std::span<const ClusterText> ClusterTexts();

}  // namespace hockney
