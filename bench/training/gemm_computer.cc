#include "bench/training/gemm_computer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hockney {
namespace {

constexpr std::size_t kMatrix = std::size_t{kProductSide} * kProductSide;
// Above the share of a last-level cache that most ranks have for themselves.
constexpr std::size_t kMemoryElements = (std::size_t{64} << 20) / sizeof(float);

}  // namespace

GemmComputer::GemmComputer(const std::shared_ptr<const Gemm>& gemm)
    : GemmComputer([gemm](const GemmOperand<float>& a, const GemmOperand<float>& b,
                          float* result) { gemm->Multiply(a, b, result); },
                   gemm->library()) {}

// The numbers are neither denormal nor grow: results are not read.
GemmComputer::GemmComputer(Multiply multiply, std::string description)
    : multiply_(std::move(multiply)),
      description_(std::move(description)),
      a_(kMatrix, 0.5F),
      b_(kMatrix, 0.25F),
      result_(kMatrix),
      memory_(kMemoryElements) {}

void GemmComputer::Product(const ProductShape& shape) {
  multiply_({.data = a_.data(), .rows = shape.rows, .columns = shape.depth},
            {.data = b_.data(), .rows = shape.depth, .columns = shape.columns}, result_.data());
}

void GemmComputer::Visit(double bytes) {
  constexpr double kBytesEach = 2 * sizeof(float);  // read and written
  auto left = static_cast<std::int64_t>(std::ceil(bytes / kBytesEach));
  while (left > 0) {
    const auto count = std::min<std::int64_t>(
        left, static_cast<std::int64_t>(memory_.size()) - static_cast<std::int64_t>(next_));
    for (float& each : std::span(memory_).subspan(next_, static_cast<std::size_t>(count)))
      each += 1;
    left -= count;
    next_ = (next_ + static_cast<std::size_t>(count)) % memory_.size();
  }
}

StepClock::time_point GemmComputer::Run(const StepNode& node, StepClock::time_point /*ready*/) {
  ForEachProduct(PlanProducts(node.flops, kProductSide),
                 [this](const ProductShape& shape) { Product(shape); });
  Visit(node.memory_bytes);
  return StepClock::now();
}

}  // namespace hockney
