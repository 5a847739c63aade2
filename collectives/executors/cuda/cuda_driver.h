#pragma once

// The parts of CUDA's driver interface that its runtime does not have. For files that are compiled
// where CUDA is.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "topology/check.h"

namespace hockney {

// For HOCKNEY_CHECK.
const char* StatusText(cudaError_t status);
const char* StatusText(CUresult status);

// Entry points of libcuda, which is looked for at run time: programs start without it.
struct CudaDriver {
  decltype(&cuDeviceGetAttribute) get_attribute = nullptr;
  decltype(&cuMemGetAddressRange) get_address_range = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) free_addresses = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&cuMemImportFromShareableHandle) import_handle = nullptr;

  // Throws EnvironmentError naming the function that this driver lacks.
  static CudaDriver Load();
};

}  // namespace hockney
