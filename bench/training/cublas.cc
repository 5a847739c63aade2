#include "bench/training/cublas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "topology/check.h"

namespace hockney {
namespace {

// Of cublasOperation_t, cudaDataType_t, cublasComputeType_t and cublasGemmAlgo_t.
constexpr int kAsStored = 0;
constexpr int kBfloat16 = 14;
constexpr int kComputeFloat32 = 68;
constexpr int kDefaultAlgorithm = -1;

constexpr const char* kPackages =
    "install package libcublas-13-0 (or libcublas of CUDA 12) and name its folder in "
    "LD_LIBRARY_PATH";

void* OpenFirst(std::span<const char* const> files) {
  std::string reasons;
  for (const char* file : files) {
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", dlerror());
  }
  throw EnvironmentError(fmt::format("no cuBLAS: {}; {}", reasons, kPackages));
}

template <class Function>
void Find(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr) {
    throw EnvironmentError(
        fmt::format("no cuBLAS: the library has no {}, expected cuBLAS 12 or newer", name));
  }
}

}  // namespace

std::shared_ptr<const Cublas> Cublas::Load(std::span<const char* const> files) {
  void* library = OpenFirst(files);
  const auto cublas = std::make_shared<Cublas>();
  int (*get_property)(int which, int* value) = nullptr;
  Find(library, "cublasGetProperty", &get_property);
  Find(library, "cublasCreate_v2", &cublas->create_);
  Find(library, "cublasDestroy_v2", &cublas->destroy_);
  Find(library, "cublasSetStream_v2", &cublas->set_stream_);
  Find(library, "cublasGetStatusString", &cublas->status_string_);
  Find(library, "cublasGemmEx", &cublas->gemm_);
  int version[3] = {};  // major, minor, patch
  for (int part = 0; part < 3; ++part)
    cublas->Check(get_property(part, &version[part]), "cublasGetProperty");
  cublas->library_ = fmt::format("cuBLAS {}.{}.{}", version[0], version[1], version[2]);
  return cublas;
}

void Cublas::Check(Status status, const char* function) const {
  if (status != 0) throw BackendError(fmt::format("{}: {}", function, status_string_(status)));
}

CublasQueue::CublasQueue(std::shared_ptr<const Cublas> cublas, void* stream)
    : cublas_(std::move(cublas)) {
  cublas_->Check(cublas_->create_(&handle_), "cublasCreate");
  try {
    cublas_->Check(cublas_->set_stream_(handle_, stream), "cublasSetStream");
  } catch (...) {
    static_cast<void>(cublas_->destroy_(handle_));
    throw;
  }
}

CublasQueue::~CublasQueue() { static_cast<void>(cublas_->destroy_(handle_)); }

void CublasQueue::Multiply(const ProductShape& shape, const void* a, const void* b,
                           void* result) const {
  const float one = 1;
  const float zero = 0;
  cublas_->Check(
      cublas_->gemm_(handle_, kAsStored, kAsStored, shape.rows, shape.columns, shape.depth, &one, a,
                     kBfloat16, shape.rows, b, kBfloat16, shape.depth, &zero, result, kBfloat16,
                     shape.rows, kComputeFloat32, kDefaultAlgorithm),
      "cublasGemmEx");
}

}  // namespace hockney
