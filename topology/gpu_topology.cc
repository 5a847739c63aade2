#include "topology/gpu_topology.h"

#include <algorithm>
#include <array>

namespace hockney {
namespace {

struct PathKind {
  std::string_view text;
  GpuLevel level;
};

// From near to far.
constexpr std::array kKinds = {
    PathKind{"X", GpuLevel::kSelf},
    PathKind{"NV", GpuLevel::kNvlink},  // and a number of links
    PathKind{"XGMI", GpuLevel::kNvlink},
    PathKind{"PIX", GpuLevel::kPcieSwitch},
    PathKind{"PXB", GpuLevel::kPcieSwitch},
    PathKind{"PHB", GpuLevel::kHostBridge},
    PathKind{"NODE", GpuLevel::kHostBridge},
    PathKind{"SYS", GpuLevel::kSocket},
    PathKind{"SOC", GpuLevel::kSocket},  // SYS of old drivers
};

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::size_t KindOf(std::string_view text) {
  if (text.starts_with("NV") && IsNumber(text.substr(2))) text = "NV";
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(),
                                         [&](const PathKind& kind) { return kind.text == text; });
  return static_cast<std::size_t>(found - kKinds.begin());
}

// SYS and SOC are the same.
std::size_t Distance(const DevicePath& path) { return std::min(KindOf(path.text), KindOf("SYS")); }

}  // namespace

std::optional<DevicePath> ParseDevicePath(std::string_view text) {
  if (text == "NV") return std::nullopt;
  const std::size_t kind = KindOf(text);
  if (kind == kKinds.size()) return std::nullopt;
  return DevicePath{.level = kKinds[kind].level, .text = std::string(text)};
}

const DevicePath& Farther(const DevicePath& a, const DevicePath& b) {
  // Of two sets of NVLinks the one with fewer: shorter or smaller text.
  if (a.level == GpuLevel::kNvlink && b.level == GpuLevel::kNvlink) {
    const bool a_has_more =
        a.text.size() != b.text.size() ? a.text.size() > b.text.size() : a.text > b.text;
    return a_has_more ? b : a;
  }
  return Distance(a) >= Distance(b) ? a : b;
}

std::vector<int> NearestNics(const GpuTopology& topology, int gpu) {
  const auto& paths = topology.to_nics.at(gpu);
  std::vector<int> nearest;
  for (std::size_t nic = 0; nic < paths.size(); ++nic) {
    if (!nearest.empty()) {
      const std::size_t least = Distance(paths[nearest[0]]);
      if (Distance(paths[nic]) > least) continue;
      if (Distance(paths[nic]) < least) nearest.clear();
    }
    nearest.push_back(static_cast<int>(nic));
  }
  if (nearest.size() > 1 && nearest.size() == paths.size()) nearest.clear();
  return nearest;
}

}  // namespace hockney
