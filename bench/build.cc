#include "bench/build.h"

namespace hockney {

// The names in capitals are compile definitions of this file; CMake knows their values.
Build ReadBuild() {
  return {
      .version = HOCKNEY_VERSION,
#ifdef __clang__
      .compiler = "clang " __clang_version__,
#else
      .compiler = "gcc " __VERSION__,
#endif
      .type = HOCKNEY_BUILD_TYPE,
      .sanitizer = HOCKNEY_BUILD_SANITIZER,
      .ucx = HOCKNEY_UCX_VERSION,
      .hwloc = HOCKNEY_HWLOC_VERSION,
      .cuda = HOCKNEY_CUDA_VERSION,
  };
}

}  // namespace hockney
