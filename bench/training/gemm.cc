#include "bench/training/gemm.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "topology/check.h"

namespace hockney {
namespace {

// Of CBLAS_ORDER and CBLAS_TRANSPOSE.
constexpr int kRowMajor = 101;
constexpr int kAsStored = 111;
constexpr int kTransposed = 112;

template <class Function>
void Find(void* library, const std::string& file, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr) {
    throw EnvironmentError(fmt::format(
        "no OpenBLAS: {} has no {}; expected that of package libopenblas0", file, name));
  }
}

}  // namespace

std::shared_ptr<const Gemm> Gemm::Load(const std::string& file) {
  // Else the library starts its threads when it is loaded.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw EnvironmentError(fmt::format("no OpenBLAS: {}; install package libopenblas0", dlerror()));
  }
  const auto gemm = std::make_shared<Gemm>();
  char* (*config)() = nullptr;
  void (*set_threads)(int) = nullptr;
  Find(library, file, "cblas_sgemm", &gemm->sgemm_);
  Find(library, file, "cblas_dgemm", &gemm->dgemm_);
  Find(library, file, "openblas_get_config", &config);
  Find(library, file, "openblas_set_num_threads", &set_threads);
  set_threads(1);                      // in case it was loaded before
  std::istringstream words(config());  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  std::string name;
  std::string version;
  words >> name >> version;
  gemm->library_ = fmt::format("{} {}, 1 thread", name, version);
  return gemm;
}

template <class T>
void Gemm::Call(Function<T>* function, const GemmOperand<T>& a, const GemmOperand<T>& b,
                T* result) {
  const int rows = a.transposed ? a.columns : a.rows;
  const int depth = a.transposed ? a.rows : a.columns;
  const int columns = b.transposed ? b.rows : b.columns;
  if (depth != (b.transposed ? b.columns : b.rows)) {
    throw std::invalid_argument(fmt::format("product of {} x {} and {} x {}", rows, depth,
                                            b.transposed ? b.columns : b.rows, columns));
  }
  function(kRowMajor, a.transposed ? kTransposed : kAsStored,
           b.transposed ? kTransposed : kAsStored, rows, columns, depth, T{1}, a.data, a.columns,
           b.data, b.columns, T{0}, result, columns);
}

void Gemm::Multiply(const GemmOperand<float>& a, const GemmOperand<float>& b, float* result) const {
  Call(sgemm_, a, b, result);
}

void Gemm::Multiply(const GemmOperand<double>& a, const GemmOperand<double>& b,
                    double* result) const {
  Call(dgemm_, a, b, result);
}

}  // namespace hockney
