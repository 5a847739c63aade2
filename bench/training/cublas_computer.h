#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bench/training/compute.h"
#include "bench/training/cublas.h"
#include "collectives/executors/cuda/device.h"

namespace hockney {

// Returns the side of a GPU's products for so many flops: the largest power of two whose cube they
// fill, from 256 to `most`. Larger products come closer to the peak of a GPU; cut ones, which are
// bound by memory, are to be few.
int CublasSide(double flops, int most);

// Computes on a device: bfloat16 products of as many flops as the node has by cuBLAS, and copies
// that read and write as many bytes. The device's own clock says when a node was done.
class CublasComputer : public Computer {
 public:
  struct Options {
    int most_side = 4096;                             // of products
    std::size_t pass_bytes = std::size_t{256} << 20;  // what copies go over, above any cache
  };

  // `device`, whose queue this has for itself, outlives it. Throws EnvironmentError if it is no GPU
  // or lacks memory, BackendError if it or cuBLAS refuses.
  CublasComputer(Device& device, std::shared_ptr<const Cublas> cublas, const Options& options);

  // Runs the nodes that compute once: the device loads the code of a product the first time, and
  // that may wait for all it does.
  void WarmUp(const StepGraph& graph);

  void Start(StepClock::time_point now) override;
  StepClock::time_point Run(const StepNode& node, StepClock::time_point ready) override;
  std::string Describe() const override;

 private:
  void Copy(double bytes);

  Device& device_;
  Options options_;
  CublasQueue products_;
  std::shared_ptr<DeviceBuffer> a_;
  std::shared_ptr<DeviceBuffer> b_;
  std::shared_ptr<DeviceBuffer> result_;
  std::shared_ptr<DeviceBuffer> memory_;
  std::unique_ptr<DeviceMark> begin_;  // of the step
  std::unique_ptr<DeviceMark> end_;    // of a node
  StepClock::time_point start_;        // when the device came to begin_
};

}  // namespace hockney
