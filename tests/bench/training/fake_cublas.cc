// A libcublas of our own, version 13.1.2, that multiplies nothing and keeps what it was called
// with. FAKE_CUBLAS_FAILS=1 lets it refuse a handle.
#include "tests/bench/training/fake_cublas.h"

#include <cstdlib>

using hockney::testing::FakeCublas;
using hockney::testing::FakeProduct;

namespace {

constexpr int kNotInitialized = 1;

FakeCublas seen;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// What a handle points to.
struct Context {
  void* stream = nullptr;
};

}  // namespace

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): cuBLAS's names

FakeCublas* FakeCublasSeen() { return &seen; }

int cublasGetProperty(int which, int* value) {
  constexpr int kVersion[] = {13, 1, 2};
  *value = kVersion[which];
  return 0;
}
const char* cublasGetStatusString(int status) {
  return status == kNotInitialized ? "the library was not initialized" : "success";
}
int cublasCreate_v2(void** handle) {
  if (std::getenv("FAKE_CUBLAS_FAILS") != nullptr) return kNotInitialized;
  *handle = new Context;
  ++seen.handles;
  return 0;
}
int cublasDestroy_v2(void* handle) {
  delete static_cast<Context*>(handle);
  --seen.handles;
  return 0;
}
int cublasSetStream_v2(void* handle, void* stream) {
  static_cast<Context*>(handle)->stream = stream;
  return 0;
}
// NOLINTNEXTLINE(readability-function-size)
int cublasGemmEx(void* handle, int /*transpose_a*/, int /*transpose_b*/, int m, int n, int k,
                 const void* alpha, const void* /*a*/, int type_a, int lda, const void* /*b*/,
                 int type_b, int ldb, const void* beta, void* /*c*/, int type_c, int ldc,
                 int compute_type, int /*algorithm*/) {
  seen.products.push_back({.stream = static_cast<Context*>(handle)->stream,
                           .m = m,
                           .n = n,
                           .k = k,
                           .lda = lda,
                           .ldb = ldb,
                           .ldc = ldc,
                           .type = type_a == type_b && type_b == type_c ? type_a : -1,
                           .compute_type = compute_type,
                           .alpha = *static_cast<const float*>(alpha),
                           .beta = *static_cast<const float*>(beta)});
  return 0;
}

// NOLINTEND(readability-identifier-naming)
}
