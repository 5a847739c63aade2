#include "bench/training/mlp.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace hockney {
namespace {

// Hendrycks and Gimpel, "Gaussian error linear units", arXiv:1606.08415: z times the share of the
// normal distribution below z.
template <class T>
T ShareBelow(T z) {
  return T{0.5} * (1 + std::erf(z / std::numbers::sqrt2_v<T>));
}

template <class T>
T GeluSlope(T z) {
  const T density = std::exp(-z * z / 2) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  return ShareBelow(z) + z * density;
}

// Adds up rows of a matrix.
template <class T>
void SumRows(std::span<const T> matrix, std::span<T> sums) {
  std::fill(sums.begin(), sums.end(), T{0});
  for (std::size_t i = 0; i < matrix.size(); i += sums.size()) {
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += matrix[i + j];
  }
}

template <class T>
void AddToRows(std::span<const T> row, std::span<T> matrix) {
  for (std::size_t i = 0; i < matrix.size(); i += row.size()) {
    for (std::size_t j = 0; j < row.size(); ++j) matrix[i + j] += row[j];
  }
}

template <class T>
std::vector<T> MatrixOf(int rows, int columns) {
  return std::vector<T>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
}

template <class T>
GemmOperand<T> Transposed(GemmOperand<T> operand) {
  operand.transposed = !operand.transposed;
  return operand;
}

}  // namespace

std::int64_t Elements(const MlpShape& shape) {
  const std::int64_t features = shape.features;
  const std::int64_t inner = shape.inner;
  return 2 * features * inner + 2 * features + inner;
}

std::vector<float> TensorPart(const MlpShape& shape, std::span<const float> parameters, int part,
                              int parts) {
  const MlpShape own{shape.features, shape.inner / parts};
  std::vector<float> result(static_cast<std::size_t>(Elements(own)));
  const auto from = TensorsOf(shape, parameters);
  const auto to = TensorsOf(own, std::span(result));
  const auto copy_part = [part](std::span<const float> whole, std::span<float> own_part) {
    const auto begin = static_cast<std::size_t>(part) * own_part.size();
    std::ranges::copy(whole.subspan(begin, own_part.size()), own_part.begin());
  };
  std::ranges::copy(from.gain, to.gain.begin());
  copy_part(from.w1, to.w1);
  copy_part(from.b1, to.b1);
  copy_part(from.w2, to.w2);
  std::ranges::copy(from.b2, to.b2.begin());
  return result;
}

template <std::floating_point T>
Mlp<T>::Mlp(const MlpShape& shape, int rows, std::shared_ptr<const Gemm> gemm)
    : shape_(shape),
      rows_(rows),
      gemm_(std::move(gemm)),
      scaled_(MatrixOf<T>(rows, shape.features)),
      before_(MatrixOf<T>(rows, shape.inner)),
      hidden_(before_.size()),
      gradient_(before_.size()) {}

template <std::floating_point T>
GemmOperand<T> Mlp<T>::Inner(const std::vector<T>& matrix) const {
  return {.data = matrix.data(), .rows = rows_, .columns = shape_.inner};
}

template <std::floating_point T>
GemmOperand<T> Mlp<T>::Outer(const T* matrix) const {
  return {.data = matrix, .rows = rows_, .columns = shape_.features};
}

template <std::floating_point T>
void Mlp<T>::Forward(std::span<const T> parameters, std::span<const T> inputs,
                     std::span<T> outputs) {
  const auto tensors = TensorsOf(shape_, parameters);
  for (std::size_t i = 0; i < scaled_.size(); i += tensors.gain.size()) {
    for (std::size_t j = 0; j < tensors.gain.size(); ++j)
      scaled_[i + j] = inputs[i + j] * tensors.gain[j];
  }
  const GemmOperand<T> w1{
      .data = tensors.w1.data(), .rows = shape_.inner, .columns = shape_.features};
  const GemmOperand<T> w2{
      .data = tensors.w2.data(), .rows = shape_.inner, .columns = shape_.features};
  gemm_->Multiply(Outer(scaled_.data()), Transposed(w1), before_.data());
  AddToRows(tensors.b1, std::span(before_));
  for (std::size_t i = 0; i < hidden_.size(); ++i) hidden_[i] = before_[i] * ShareBelow(before_[i]);
  gemm_->Multiply(Inner(hidden_), w2, outputs.data());
}

template <std::floating_point T>
void Mlp<T>::AddBias(std::span<const T> parameters, std::span<T> outputs) const {
  AddToRows(TensorsOf(shape_, parameters).b2, outputs);
}

template <std::floating_point T>
void Mlp<T>::Backward(std::span<const T> parameters, std::span<const T> output_gradients,
                      std::span<T> gradients, std::span<T> input_gradients) {
  const auto tensors = TensorsOf(shape_, parameters);
  const auto of = TensorsOf(shape_, gradients);
  const GemmOperand<T> w1{
      .data = tensors.w1.data(), .rows = shape_.inner, .columns = shape_.features};
  const GemmOperand<T> w2{
      .data = tensors.w2.data(), .rows = shape_.inner, .columns = shape_.features};
  const GemmOperand<T> from = Outer(output_gradients.data());
  gemm_->Multiply(Transposed(Inner(hidden_)), from, of.w2.data());
  SumRows(output_gradients, of.b2);
  gemm_->Multiply(from, Transposed(w2), gradient_.data());
  for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_[i] *= GeluSlope(before_[i]);
  gemm_->Multiply(Transposed(Inner(gradient_)), Outer(scaled_.data()), of.w1.data());
  SumRows(std::span<const T>(gradient_), of.b1);
  gemm_->Multiply(Inner(gradient_), w1, input_gradients.data());
}

template <std::floating_point T>
void Mlp<T>::GainGradient(std::span<const T> inputs, std::span<const T> input_gradients,
                          std::span<T> gradients) const {
  const std::span<T> gain = TensorsOf(shape_, gradients).gain;
  std::fill(gain.begin(), gain.end(), T{0});
  for (std::size_t i = 0; i < inputs.size(); i += gain.size()) {
    for (std::size_t j = 0; j < gain.size(); ++j) gain[j] += inputs[i + j] * input_gradients[i + j];
  }
}

template <std::floating_point T>
double MeanSquaredError(std::span<const T> outputs, std::span<const T> targets,
                        std::span<T> output_gradients) {
  const auto count = static_cast<double>(outputs.size());
  double sum = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const T difference = outputs[i] - targets[i];
    sum += static_cast<double>(difference) * static_cast<double>(difference);
    output_gradients[i] = difference * static_cast<T>(2 / count);
  }
  return sum / count;
}

template class Mlp<float>;
template class Mlp<double>;
template double MeanSquaredError(std::span<const float>, std::span<const float>, std::span<float>);
template double MeanSquaredError(std::span<const double>, std::span<const double>,
                                 std::span<double>);

}  // namespace hockney
