#include "bench/training/train_data.h"

#include <algorithm>
#include <cmath>

namespace hockney {
namespace {

// The output function of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014), and what it counts by.
constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

std::uint64_t Mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

void FillUniform(std::uint64_t seed, double largest, std::span<float> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(largest * UniformAt(seed, i));
}

}  // namespace

double UniformAt(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = Mix(Mix(seed + kGoldenGamma) + kGoldenGamma * (index + 1));
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

std::vector<float> InitialParameters(const MlpShape& shape, std::uint64_t seed) {
  std::vector<float> parameters(static_cast<std::size_t>(Elements(shape)));
  const auto tensors = TensorsOf(shape, std::span(parameters));
  std::ranges::fill(tensors.gain, 1.0F);
  FillUniform(2 * seed, std::sqrt(3.0 / shape.features), tensors.w1);
  FillUniform(2 * seed + 1, std::sqrt(3.0 / shape.inner), tensors.w2);
  return parameters;
}

void FillInputs(int features, std::uint64_t seed, std::int64_t first, std::span<float> inputs) {
  const auto begin = static_cast<std::uint64_t>(first) * static_cast<std::uint64_t>(features);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<float>(std::sqrt(3.0) * UniformAt(seed, begin + i));
}

}  // namespace hockney
