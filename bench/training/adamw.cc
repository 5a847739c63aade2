#include "bench/training/adamw.h"

#include <cmath>

namespace hockney {

AdamW::AdamW(std::size_t elements, const AdamWOptions& options)
    : options_(options), means_(elements), squares_(elements) {}

void AdamW::Update(std::span<float> parameters, std::span<const float> gradients) {
  ++steps_;
  const auto step = static_cast<double>(steps_);
  const auto beta1 = static_cast<float>(options_.beta1);
  const auto beta2 = static_cast<float>(options_.beta2);
  const auto kept = static_cast<float>(1 - options_.learning_rate * options_.weight_decay);
  // Both means begin at 0 and are corrected for that.
  const auto rate =
      static_cast<float>(options_.learning_rate / (1 - std::pow(options_.beta1, step)));
  const auto correction = static_cast<float>(1 / (1 - std::pow(options_.beta2, step)));
  const auto epsilon = static_cast<float>(options_.epsilon);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float gradient = gradients[i];
    means_[i] = beta1 * means_[i] + (1 - beta1) * gradient;
    squares_[i] = beta2 * squares_[i] + (1 - beta2) * gradient * gradient;
    parameters[i] =
        kept * parameters[i] - rate * means_[i] / (std::sqrt(squares_[i] * correction) + epsilon);
  }
}

}  // namespace hockney
