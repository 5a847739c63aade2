#pragma once

#include <string>

namespace hockney {

// NVML's own declarations, for what is used of them: its header is not part of the CUDA toolkit
// everywhere. Names and values are NVML's ("NVML API Reference Guide").
struct NvmlDeviceHandle;
using NvmlDevice = NvmlDeviceHandle*;
using NvmlStatus = int;  // 0 is success

struct NvmlPciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

inline constexpr unsigned kNvmlMostLinks = 18;  // NVML_NVLINK_MAX_LINKS
inline constexpr int kNvmlLinkToSwitch = 2;     // NVML_NVLINK_DEVICE_TYPE_SWITCH

// The functions of a library that was found at run time.
struct NvmlApi {
  NvmlStatus (*init)() = nullptr;
  NvmlStatus (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlStatus) = nullptr;
  NvmlStatus (*driver_version)(char* text, unsigned length) = nullptr;
  NvmlStatus (*device_count)(unsigned* count) = nullptr;
  NvmlStatus (*device)(unsigned index, NvmlDevice* device) = nullptr;
  NvmlStatus (*pci_info)(NvmlDevice device, NvmlPciInfo* info) = nullptr;
  NvmlStatus (*common_ancestor)(NvmlDevice a, NvmlDevice b, int* level) = nullptr;
  NvmlStatus (*link_state)(NvmlDevice device, unsigned link, int* is_active) = nullptr;
  NvmlStatus (*link_peer)(NvmlDevice device, unsigned link, NvmlPciInfo* info) = nullptr;
  NvmlStatus (*link_type)(NvmlDevice device, unsigned link, int* type) = nullptr;

  // Returns why the library cannot be used, or "". It stays loaded.
  static std::string Load(const std::string& library, NvmlApi* api);
};

}  // namespace hockney
