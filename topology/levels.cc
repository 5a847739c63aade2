#include "topology/levels.h"

#include <stdexcept>

namespace hockney {

std::string_view Name(Level level) {
  switch (level) {
    case Level::kSelf:
      return "self";
    case Level::kCache:
      return "cache";
    case Level::kNuma:
      return "numa";
    case Level::kNode:
      return "node";
    case Level::kRack:
      return "rack";
    case Level::kPod:
      return "pod";
    case Level::kFabric:
      return "fabric";
  }
  throw std::invalid_argument("value outside Level");
}

std::string_view Name(GpuLevel level) {
  switch (level) {
    case GpuLevel::kSelf:
      return "self";
    case GpuLevel::kNvlink:
      return "nvlink";
    case GpuLevel::kPcieSwitch:
      return "pcie_switch";
    case GpuLevel::kHostBridge:
      return "host_bridge";
    case GpuLevel::kSocket:
      return "socket";
  }
  throw std::invalid_argument("value outside GpuLevel");
}

char Letter(Level level) {
  constexpr std::string_view kLetters = "=cunrpf";
  return kLetters.at(static_cast<std::size_t>(level));
}

char Letter(GpuLevel level) {
  constexpr std::string_view kLetters = "=vpbs";
  return kLetters.at(static_cast<std::size_t>(level));
}

}  // namespace hockney
