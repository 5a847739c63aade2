#include "collectives/executors/cuda/cuda_driver.h"

#include <string>

namespace hockney {
namespace {

template <class Function>
void Find(const char* name, Function* function) {
  constexpr unsigned kVersion = 12000;  // of the driver, whose form of each function is wanted
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  HOCKNEY_CHECK(
      cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result));
#else
  static_cast<void>(kVersion);
  HOCKNEY_CHECK(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result));
#endif
  if (result != cudaDriverEntryPointSuccess || found == nullptr) {
    throw EnvironmentError("the CUDA driver has no " + std::string(name) +
                           ": expected one of CUDA 12.0 or newer");
  }
  *function = reinterpret_cast<Function>(found);
}

}  // namespace

const char* StatusText(cudaError_t status) {
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

const char* StatusText(CUresult status) {
  // The text is the driver's, which may be what is missing.
  if (status == CUDA_SUCCESS) return nullptr;
  return status == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "the CUDA driver refused";
}

CudaDriver CudaDriver::Load() {
  CudaDriver driver;
  Find("cuDeviceGetAttribute", &driver.get_attribute);
  Find("cuMemGetAddressRange", &driver.get_address_range);
  Find("cuMemCreate", &driver.create);
  Find("cuMemRelease", &driver.release);
  Find("cuMemAddressReserve", &driver.reserve);
  Find("cuMemAddressFree", &driver.free_addresses);
  Find("cuMemMap", &driver.map);
  Find("cuMemUnmap", &driver.unmap);
  Find("cuMemSetAccess", &driver.set_access);
  Find("cuMemGetAllocationGranularity", &driver.granularity);
  Find("cuMemExportToShareableHandle", &driver.export_handle);
  Find("cuMemImportFromShareableHandle", &driver.import_handle);
  return driver;
}

}  // namespace hockney
