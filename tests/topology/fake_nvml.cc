// A libnvidia-ml of our own with four GPUs: 0 and 1 joined by six NVLinks, 2 and 3 by twelve each
// to a switch, the pairs across sockets. FAKE_NVML_FAILS=1 lets it find no driver.
#include <cstdio>
#include <cstdlib>

#include "topology/nvml_api.h"

using hockney::NvmlDevice;
using hockney::NvmlPciInfo;
using hockney::NvmlStatus;

namespace {

constexpr const char* kBusIds[] = {"00000000:04:00.0", "00000000:05:00.0", "00000000:A4:00.0",
                                   "00000000:A5:00.0"};
constexpr NvmlStatus kNotSupported = 3;
constexpr NvmlStatus kNoDriver = 9;

// A device is a place in this array.
char devices[4];  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

std::size_t IndexOf(NvmlDevice device) {
  return static_cast<std::size_t>(reinterpret_cast<char*>(device) - devices);
}

void CopyBusId(std::size_t index, NvmlPciInfo* info) {
  std::snprintf(info->bus_id, sizeof info->bus_id, "%s", kBusIds[index]);
}

}  // namespace

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): NVML's names

NvmlStatus nvmlInit_v2() { return std::getenv("FAKE_NVML_FAILS") != nullptr ? kNoDriver : 0; }
NvmlStatus nvmlShutdown() { return 0; }
const char* nvmlErrorString(NvmlStatus status) {
  return status == kNoDriver ? "Driver Not Loaded" : "Not Supported";
}
NvmlStatus nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "580.1");
  return 0;
}
NvmlStatus nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 4;
  return 0;
}
NvmlStatus nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  *device = reinterpret_cast<NvmlDevice>(devices + index);
  return 0;
}
NvmlStatus nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPciInfo* info) {
  CopyBusId(IndexOf(device), info);
  return 0;
}
NvmlStatus nvmlDeviceGetTopologyCommonAncestor(NvmlDevice a, NvmlDevice b, int* level) {
  if (IndexOf(a) / 2 == IndexOf(b) / 2) return kNotSupported;  // their NVLinks say it
  *level = IndexOf(a) + IndexOf(b) == 3 ? 40 : 50;
  return 0;
}
NvmlStatus nvmlDeviceGetNvLinkState(NvmlDevice device, unsigned link, int* is_active) {
  if (link >= 12) return kNotSupported;
  *is_active = IndexOf(device) >= 2 || link < 6 ? 1 : 0;
  return 0;
}
NvmlStatus nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, unsigned, NvmlPciInfo* info) {
  CopyBusId(IndexOf(device) ^ 1, info);
  return 0;
}
NvmlStatus nvmlDeviceGetNvLinkRemoteDeviceType(NvmlDevice device, unsigned, int* type) {
  *type = IndexOf(device) >= 2 ? hockney::kNvmlLinkToSwitch : 0;
  return 0;
}

// NOLINTEND(readability-identifier-naming)
}  // extern "C"
