#include "collectives/executors/cuda/cuda_device.h"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "collectives/executors/cuda/cuda_memory.h"
#include "collectives/executors/cuda/cuda_stream.h"
#include "collectives/executors/cuda/interpreter_kernels.h"

namespace hockney {
namespace {

class CudaLaunch : public DeviceLaunch {
 public:
  CudaLaunch(cudaStream_t stream, const void* kernel, std::span<const BlockCall> calls, int threads)
      : stream_(stream), kernel_(kernel), one_(calls[0]), done_(MakeEvent()) {
    int lanes = 0;
    for (const BlockCall& call : calls) lanes = std::max(lanes, call.lanes);
    grid_ = {static_cast<unsigned>(lanes), static_cast<unsigned>(calls.size()), 1};
    block_ = {static_cast<unsigned>(threads), 1, 1};
    if (calls.size() == 1) return;
    many_ = AllocateCuda(calls.size_bytes());
    HOCKNEY_CHECK(
        cudaMemcpy(many_->data(), calls.data(), calls.size_bytes(), cudaMemcpyHostToDevice));
  }

  void Start() override {
    Enqueue();
    HOCKNEY_CHECK(cudaEventRecord(done_.get(), stream_));
  }
  // Cooperative launches can be captured from CUDA 11.1 on.
  double TimeGraph(int calls, int replays) override {
    HOCKNEY_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls; ++i) Enqueue();
    return TimeCapture(stream_, replays, sched_yield) / calls;
  }
  double Time(int count) override {
    const auto enqueue = [&] {
      for (int i = 0; i < count; ++i) Enqueue();
    };
    return TimeOn(stream_, enqueue, sched_yield) / count;  // the blocks hold the deadline
  }
  bool Finished() override {
    const cudaError_t status = cudaEventQuery(done_.get());
    if (status == cudaErrorNotReady) return false;
    HOCKNEY_CHECK(status);
    return true;
  }

 private:
  void Enqueue() {
    auto* many = many_ ? reinterpret_cast<const BlockCall*>(many_->data()) : nullptr;
    void* arguments[] = {&one_, &many};
    HOCKNEY_CHECK(cudaLaunchCooperativeKernel(kernel_, grid_, block_, arguments, 0, stream_));
  }

  cudaStream_t stream_;
  const void* kernel_;
  BlockCall one_;
  CudaEvent done_;
  dim3 grid_;
  dim3 block_;
  std::shared_ptr<DeviceBuffer> many_;
};

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {
    HOCKNEY_CHECK(cudaSetDevice(ordinal));
    HOCKNEY_CHECK(cudaGetDeviceProperties(&properties_, ordinal));
    int cooperative = 0;
    HOCKNEY_CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, ordinal));
    if (cooperative == 0) {
      throw EnvironmentError(Describe() +
                             " has no cooperative launch: its blocks could not wait for "
                             "each other");
    }
    driver_ = CudaDriver::Load();
    stream_ = MakeStream();
  }

  std::string name() const override { return Describe(); }
  std::shared_ptr<DeviceBuffer> Allocate(std::size_t bytes, PeerMemoryKind kind) override {
    return kind == PeerMemoryKind::kCudaIpc ? AllocateCuda(bytes)
                                            : AllocateCudaFile(driver_, ordinal_, bytes);
  }
  std::shared_ptr<DeviceBuffer> AllocateOnHost(std::size_t bytes) override {
    return AllocatePinned(bytes);
  }
  PeerHandle Export(const DeviceBuffer& buffer) override { return ExportCuda(driver_, buffer); }
  std::shared_ptr<DeviceBuffer> Open(const PeerHandle& handle, PeerMemoryKind kind) override {
    return kind == PeerMemoryKind::kCudaIpc ? OpenCuda(handle)
                                            : OpenCudaFile(driver_, ordinal_, handle);
  }
  void ReachMemoryOf(const DeviceBuffer& buffer) override { ReachCuda(buffer, ordinal_); }

  void Write(std::byte* to, std::span<const std::byte> from) override {
    HOCKNEY_CHECK(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice));
    HOCKNEY_CHECK(cudaDeviceSynchronize());  // pageable memory may still be on its way
  }
  void Read(std::span<std::byte> to, const std::byte* from) override {
    HOCKNEY_CHECK(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost));
  }

  double TimeCopy(std::byte* to, const std::byte* from, std::size_t bytes, int count) override {
    const auto enqueue = [&] {
      for (int i = 0; i < count; ++i) {
        HOCKNEY_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.get()));
      }
    };
    return TimeOn(stream_.get(), enqueue, sched_yield) / count;
  }

  int ResidentBlocks(DataType type, ReduceOp op, int threads) override {
    int blocks = 0;
    HOCKNEY_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, FindInterpreter(type, op),
                                                                threads, 0));
    return blocks * properties_.multiProcessorCount;
  }
  std::unique_ptr<DeviceLaunch> PrepareLaunch(std::span<const BlockCall> calls, DataType type,
                                              ReduceOp op, int threads) override {
    const void* kernel = FindInterpreter(type, op);
    cudaFuncAttributes loaded{};
    HOCKNEY_CHECK(cudaFuncGetAttributes(&loaded, kernel));  // now, or the first launch loads it
    return std::make_unique<CudaLaunch>(stream_.get(), kernel, calls, threads);
  }

 private:
  std::string Describe() const {
    return "GPU " + std::to_string(ordinal_) + " (" + properties_.name + ")";
  }

  int ordinal_;
  cudaDeviceProp properties_{};
  CudaDriver driver_;
  CudaStream stream_;
};

}  // namespace

std::string CudaBuildStatus() {
  return "compiled with CUDA " + std::to_string(CUDART_VERSION / 1000) + "." +
         std::to_string(CUDART_VERSION % 1000 / 10) + ", never run on a GPU";
}

CudaDevices FindCudaDevices() {
  CudaDevices devices;
  const cudaError_t status = cudaGetDeviceCount(&devices.count);
  if (status != cudaSuccess) {
    devices = {.count = 0, .reason = cudaGetErrorString(status)};
  } else if (devices.count == 0) {
    devices.reason = "no CUDA-capable device is detected";
  }
  return devices;
}

std::unique_ptr<Device> OpenCudaDevice(int ordinal) {
  const CudaDevices devices = FindCudaDevices();
  if (ordinal < 0 || ordinal >= devices.count) {
    throw EnvironmentError("no GPU " + std::to_string(ordinal) + ": " +
                           (devices.reason.empty()
                                ? "there are " + std::to_string(devices.count) + ", from 0 on"
                                : devices.reason));
  }
  return std::make_unique<CudaDevice>(ordinal);
}

}  // namespace hockney
