#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/training/compute.h"
#include "bench/training/gemm.h"
#include "bench/training/product_plan.h"

namespace hockney {

inline constexpr int kProductSide = 256;  // three matrices of 256 KiB: they stay in an L2 cache

// Computes for real, in the calling thread: float32 products of as many flops as the node has, and
// passes over memory, read and written, of as many bytes.
class GemmComputer : public Computer {
 public:
  // Does a product.
  using Multiply =
      std::function<void(const GemmOperand<float>& a, const GemmOperand<float>& b, float* result)>;

  explicit GemmComputer(const std::shared_ptr<const Gemm>& gemm);
  GemmComputer(Multiply multiply, std::string description);

  void Start(StepClock::time_point /*now*/) override {}
  StepClock::time_point Run(const StepNode& node, StepClock::time_point ready) override;
  std::string Describe() const override { return description_; }

  // What passes go over: each adds 1 to the numbers it visits.
  std::span<const float> visited() const { return memory_; }

 private:
  void Product(const ProductShape& shape);
  void Visit(double bytes);

  Multiply multiply_;
  std::string description_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> result_;
  std::vector<float> memory_;
  std::size_t next_ = 0;  // of memory_: passes go on where the last one ended
};

}  // namespace hockney
