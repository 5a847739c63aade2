#include "topology/nvml_api.h"

#include <dlfcn.h>

namespace hockney {
namespace {

template <class Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

std::string NvmlApi::Load(const std::string& library, NvmlApi* api) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return dlerror();
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!Find(loaded, name, function)) missing = name;
  };
  find("nvmlInit_v2", &api->init);
  find("nvmlShutdown", &api->shutdown);
  find("nvmlErrorString", &api->error_string);
  find("nvmlSystemGetDriverVersion", &api->driver_version);
  find("nvmlDeviceGetCount_v2", &api->device_count);
  find("nvmlDeviceGetHandleByIndex_v2", &api->device);
  find("nvmlDeviceGetPciInfo_v3", &api->pci_info);
  find("nvmlDeviceGetTopologyCommonAncestor", &api->common_ancestor);
  find("nvmlDeviceGetNvLinkState", &api->link_state);
  find("nvmlDeviceGetNvLinkRemotePciInfo_v2", &api->link_peer);
  find("nvmlDeviceGetNvLinkRemoteDeviceType", &api->link_type);
  return missing == nullptr ? "" : library + " has no " + missing;
}

}  // namespace hockney
