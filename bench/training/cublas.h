#pragma once

#include <memory>
#include <span>
#include <string>

#include "bench/training/product_plan.h"

namespace hockney {

// Products of matrices on a GPU by cuBLAS, which is loaded at run time and needs nothing of the
// toolkit to build. Compiled, never run on a GPU.
class Cublas {
 public:
  // The names that the loader is asked for, in this order.
  static constexpr const char* kFiles[] = {"libcublas.so.13", "libcublas.so.12"};

  // Loads the first library that there is, which stays. Needs no GPU. Throws EnvironmentError,
  // naming the package, if there is none.
  static std::shared_ptr<const Cublas> Load(std::span<const char* const> files = kFiles);

  // "cuBLAS 13.0.2"
  const std::string& library() const { return library_; }

 private:
  friend class CublasQueue;
  // cuBLAS's own declarations, with what enumerations are.
  using Status = int;
  using Handle = void*;
  using Create = Status(Handle* handle);
  using Destroy = Status(Handle handle);
  using SetStream = Status(Handle handle, void* stream);
  using StatusString = const char*(Status status);
  using GemmEx = Status(Handle handle, int transpose_a, int transpose_b, int m, int n, int k,
                        const void* alpha, const void* a, int type_a, int lda, const void* b,
                        int type_b, int ldb, const void* beta, void* c, int type_c, int ldc,
                        int compute_type, int algorithm);

  // Throws BackendError if a function failed.
  void Check(Status status, const char* function) const;

  std::string library_;
  Create* create_ = nullptr;
  Destroy* destroy_ = nullptr;
  SetStream* set_stream_ = nullptr;
  StatusString* status_string_ = nullptr;
  GemmEx* gemm_ = nullptr;
};

// Puts products into the queue of a device. Used by the thread that opened it.
class CublasQueue {
 public:
  // `stream` is a cudaStream_t of the thread's device and outlives this. Throws BackendError with
  // cuBLAS's words if it refuses.
  CublasQueue(std::shared_ptr<const Cublas> cublas, void* stream);
  CublasQueue(const CublasQueue&) = delete;
  CublasQueue& operator=(const CublasQueue&) = delete;
  ~CublasQueue();

  const std::string& library() const { return cublas_->library(); }

  // Enqueues a b, of bfloat16 matrices on the device that are stored by columns, sums in float32.
  void Multiply(const ProductShape& shape, const void* a, const void* b, void* result) const;

 private:
  std::shared_ptr<const Cublas> cublas_;
  Cublas::Handle handle_ = nullptr;
};

}  // namespace hockney
