#include "bench/training/cublas_computer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "collectives/executors/cuda/device_queue.h"
#include "topology/check.h"

namespace hockney {
namespace {

constexpr int kLeastSide = 256;

// cuBLAS would take the default stream of a GPU in its place.
void* StreamOf(const Device& device) {
  if (device.stream() == nullptr) throw EnvironmentError(device.name() + ": no GPU for cuBLAS");
  return device.stream();
}

std::shared_ptr<DeviceBuffer> MakeRoom(Device& device, std::size_t bytes) {
  return device.Allocate(bytes, PeerMemoryKind::kCudaIpc);
}

// A bfloat16 matrix of numbers from 0.5 to 2 of either sign: zeros would let a GPU clock higher.
std::shared_ptr<DeviceBuffer> MakeMatrix(Device& device, int side) {
  constexpr std::uint64_t kVaried = 0x80ff'80ff'80ff'80ff;
  constexpr std::uint64_t kExponent = 0x3f00'3f00'3f00'3f00;
  const std::size_t bytes = sizeof(std::uint16_t) * side * side;
  std::vector<std::uint64_t> numbers(bytes / sizeof(std::uint64_t));
  std::mt19937_64 random(1);
  for (std::uint64_t& four : numbers) four = kExponent | (random() & kVaried);
  auto matrix = MakeRoom(device, bytes);
  device.Write(matrix->data(), std::as_bytes(std::span(numbers)));
  return matrix;
}

}  // namespace

int CublasSide(double flops, int most) {
  int side = kLeastSide;
  while (2 * side <= most && 2 * std::pow(2.0 * side, 3) <= flops) side *= 2;
  return std::min(side, most);
}

CublasComputer::CublasComputer(Device& device, std::shared_ptr<const Cublas> cublas,
                               const Options& options)
    : device_(device),
      options_(options),
      products_(std::move(cublas), StreamOf(device)),
      a_(MakeMatrix(device, options.most_side)),
      b_(MakeMatrix(device, options.most_side)),
      result_(MakeRoom(device, sizeof(std::uint16_t) * options.most_side * options.most_side)),
      memory_(MakeRoom(device, options.pass_bytes)),
      begin_(device.MakeMark()),
      end_(device.MakeMark()) {}

void CublasComputer::WarmUp(const StepGraph& graph) {
  const StepClock::time_point now = StepClock::now();
  Start(now);
  for (const StepNode& node : graph.nodes) {
    if (node.kind == StepKind::kCompute) Run(node, now);
  }
}

// Half of the bytes are read, half written.
void CublasComputer::Copy(double bytes) {
  const std::size_t most = memory_->bytes() / 2;
  for (auto left = static_cast<std::size_t>(std::ceil(bytes / 2)); left > 0;) {
    const std::size_t count = std::min(left, most);
    device_.EnqueueCopy(memory_->data() + most, memory_->data(), count);
    left -= count;
  }
}

void CublasComputer::Start(StepClock::time_point /*now*/) {
  WaitForQueue(*begin_);
  start_ = StepClock::now();
}

StepClock::time_point CublasComputer::Run(const StepNode& node, StepClock::time_point ready) {
  const ProductPlan plan = PlanProducts(node.flops, CublasSide(node.flops, options_.most_side));
  ForEachProduct(plan, [this](const ProductShape& shape) {
    products_.Multiply(shape, a_->data(), b_->data(), result_->data());
  });
  Copy(node.memory_bytes);
  WaitForQueue(*end_);
  const StepClock::time_point seen = StepClock::now();
  const StepClock::time_point done =
      start_ + std::chrono::duration_cast<StepClock::duration>(
                   std::chrono::duration<double>(end_->SecondsSince(*begin_)));
  return std::clamp(done, std::min(ready, seen), seen);
}

std::string CublasComputer::Describe() const {
  return fmt::format("{}, bfloat16, on {}", products_.library(), device_.name());
}

}  // namespace hockney
