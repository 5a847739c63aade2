#pragma once

#include <vector>

namespace hockney::testing {

// One cublasGemmEx that the fake library was called with.
struct FakeProduct {
  void* stream = nullptr;  // of the handle
  int m = 0;
  int n = 0;
  int k = 0;
  int lda = 0;
  int ldb = 0;
  int ldc = 0;
  int type = 0;  // of all matrices, -1 where they differ
  int compute_type = 0;
  float alpha = 0;
  float beta = 0;
};

// What the library has seen: its function FakeCublasSeen returns it.
struct FakeCublas {
  int handles = 0;  // that are not destroyed
  std::vector<FakeProduct> products;
};

}  // namespace hockney::testing
