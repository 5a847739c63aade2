#pragma once

#include <memory>
#include <string>

namespace hockney {

// A row-major matrix of a product, as it is stored and perhaps transposed.
template <class T>
struct GemmOperand {
  const T* data = nullptr;
  int rows = 0;
  int columns = 0;
  bool transposed = false;
};

// Products of matrices by OpenBLAS in the calling thread; several threads may call at a time. The
// library is loaded at run time: a program that is linked with it gets a thread for every core
// before main begins, also where it multiplies nothing.
class Gemm {
 public:
  // Loads the library, which stays. To be called before other threads start, since it sets
  // OPENBLAS_NUM_THREADS. Throws EnvironmentError, naming the package, if there is none.
  static std::shared_ptr<const Gemm> Load(const std::string& file = "libopenblas.so.0");

  // Writes a b, with rows of the first and columns of the second operand, to `result`. Throws
  // std::invalid_argument if the operands do not fit together.
  void Multiply(const GemmOperand<float>& a, const GemmOperand<float>& b, float* result) const;
  void Multiply(const GemmOperand<double>& a, const GemmOperand<double>& b, double* result) const;

  // "OpenBLAS 0.3.21, 1 thread"
  const std::string& library() const { return library_; }

 private:
  // OpenBLAS's own declarations, with what enumerations are: cblas.h is not needed to build.
  template <class T>
  using Function = void(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                        const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

  template <class T>
  static void Call(Function<T>* function, const GemmOperand<T>& a, const GemmOperand<T>& b,
                   T* result);

  std::string library_;
  Function<float>* sgemm_ = nullptr;
  Function<double>* dgemm_ = nullptr;
};

}  // namespace hockney
