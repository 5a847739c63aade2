#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/training/gemm.h"

namespace hockney {

// The MLP block of a transformer with the gain of the norm before it, whose gradient needs that of
// the block's input: y = gelu((gain * x) w1 + b1) w2 + b2, where rows of x and y are tokens. One
// vector holds all parameters: gain, w1, b1, w2, b2.
struct MlpShape {
  int features = 1;  // of x and y
  int inner = 1;     // between the products
};

std::int64_t Elements(const MlpShape& shape);

template <class T>
struct MlpTensors {
  std::span<T> gain;  // features
  std::span<T> w1;    // inner x features: stored transposed
  std::span<T> b1;    // inner
  std::span<T> w2;    // inner x features
  std::span<T> b2;    // features
};

// The tensors in `parameters`, which may be longer.
template <class T>
MlpTensors<T> TensorsOf(const MlpShape& shape, std::span<T> parameters) {
  const auto features = static_cast<std::size_t>(shape.features);
  const auto inner = static_cast<std::size_t>(shape.inner);
  const std::size_t w1 = features;
  const std::size_t b1 = w1 + inner * features;
  const std::size_t w2 = b1 + inner;
  const std::size_t b2 = w2 + inner * features;
  return {parameters.subspan(0, features), parameters.subspan(w1, inner * features),
          parameters.subspan(b1, inner), parameters.subspan(w2, inner * features),
          parameters.subspan(b2, features)};
}

// Returns the parameters of tensor-parallel rank `part` of `parts`: its share of `inner`, so of
// columns of w1 and rows of w2. Source: Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3.
std::vector<float> TensorPart(const MlpShape& shape, std::span<const float> parameters, int part,
                              int parts);

// Forward and backward pass of `rows` tokens, cut where tensor-parallel ranks add up: each has
// terms of the outputs and of the input's gradient. Keeps what the backward pass needs.
template <std::floating_point T>
class Mlp {
 public:
  Mlp(const MlpShape& shape, int rows, std::shared_ptr<const Gemm> gemm);

  // Writes this rank's terms of the outputs, without b2.
  void Forward(std::span<const T> parameters, std::span<const T> inputs, std::span<T> outputs);
  // Adds b2 to outputs, after the terms of all ranks were added up.
  void AddBias(std::span<const T> parameters, std::span<T> outputs) const;

  // Of the last Forward: writes the gradients of all parameters but the gain, and this rank's terms
  // of the gradient of `gain * x`.
  void Backward(std::span<const T> parameters, std::span<const T> output_gradients,
                std::span<T> gradients, std::span<T> input_gradients);
  // Writes the gradient of the gain, after the terms of all ranks were added up.
  void GainGradient(std::span<const T> inputs, std::span<const T> input_gradients,
                    std::span<T> gradients) const;

 private:
  GemmOperand<T> Inner(const std::vector<T>& matrix) const;
  GemmOperand<T> Outer(const T* matrix) const;

  MlpShape shape_;
  int rows_;
  std::shared_ptr<const Gemm> gemm_;
  std::vector<T> scaled_;    // gain * x
  std::vector<T> before_;    // of gelu, what goes in
  std::vector<T> hidden_;    // and what comes out
  std::vector<T> gradient_;  // of hidden_, then of before_
};

// Returns the mean of squared differences and writes its gradient.
template <std::floating_point T>
double MeanSquaredError(std::span<const T> outputs, std::span<const T> targets,
                        std::span<T> output_gradients);

}  // namespace hockney
