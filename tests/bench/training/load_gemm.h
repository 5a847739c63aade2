#pragma once

#include <memory>

#include "bench/training/gemm.h"
#include "tests/requirements.h"
#include "topology/check.h"

namespace hockney::testing {

// Null where there is no OpenBLAS; the test is then skipped, or failed if HOCKNEY_REQUIRE names
// openblas, and returns:  if (!gemm) return;
inline std::shared_ptr<const Gemm> LoadGemmOrSkip() {
  try {
    return Gemm::Load();
  } catch (const EnvironmentError& error) {
    RequireOrSkip("openblas", false, error.what());
    return nullptr;
  }
}

}  // namespace hockney::testing
