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
    case Level::kGpu:
      return "gpu";
    case Level::kNvlink:
      return "nvlink";
    case Level::kPcieSwitch:
      return "pcie_switch";
    case Level::kHostBridge:
      return "host_bridge";
    case Level::kSocket:
      return "socket";
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

Level LevelOf(GpuLevel level) {
  switch (level) {
    case GpuLevel::kSelf:
      return Level::kGpu;
    case GpuLevel::kNvlink:
      return Level::kNvlink;
    case GpuLevel::kPcieSwitch:
      return Level::kPcieSwitch;
    case GpuLevel::kHostBridge:
      return Level::kHostBridge;
    case GpuLevel::kSocket:
      return Level::kSocket;
  }
  throw std::invalid_argument("value outside GpuLevel");
}

std::string_view Name(GpuLevel level) {
  return Name(level == GpuLevel::kSelf ? Level::kSelf : LevelOf(level));
}

char Letter(Level level) {
  constexpr std::string_view kLetters = "=cugvxbsnrpf";
  return kLetters.at(static_cast<std::size_t>(level));
}

char Letter(GpuLevel level) {
  constexpr std::string_view kLetters = "=vpbs";
  return kLetters.at(static_cast<std::size_t>(level));
}

}  // namespace hockney
