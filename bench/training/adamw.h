#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hockney {

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
};

// Adam with decoupled weight decay, all in float32. Source: Loshchilov and Hutter,
// arXiv:1711.05101, algorithm 2, with the decay times the learning rate, as PyTorch has it.
class AdamW {
 public:
  AdamW(std::size_t elements, const AdamWOptions& options);

  // One step; both are of as many elements as the optimizer.
  void Update(std::span<float> parameters, std::span<const float> gradients);

 private:
  AdamWOptions options_;
  std::vector<float> means_;    // of gradients
  std::vector<float> squares_;  // means of their squares
  std::int64_t steps_ = 0;
};

}  // namespace hockney
