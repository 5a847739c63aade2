#include "collectives/executors/cuda/cuda_device.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/executors/cuda/cuda_memory.h"
#include "collectives/executors/cuda/cuda_stream.h"
#include "collectives/executors/cuda/interpreter_kernels.h"
#include "topology/deadline.h"

namespace hockney {
namespace {

class KernelLaunch : public DeviceLaunch {
 public:
  KernelLaunch(cudaStream_t stream, const void* kernel, std::span<const BlockCall> calls,
               int threads)
      : stream_(stream), kernel_(kernel), one_(calls[0]) {
    int lanes = 0;
    for (const BlockCall& call : calls) lanes = std::max(lanes, call.lanes);
    grid_ = {static_cast<unsigned>(lanes), static_cast<unsigned>(calls.size()), 1};
    block_ = {static_cast<unsigned>(threads), 1, 1};
    if (calls.size() == 1) return;
    many_ = AllocateCuda(calls.size_bytes());
    HOCKNEY_CHECK(
        cudaMemcpy(many_->data(), calls.data(), calls.size_bytes(), cudaMemcpyHostToDevice));
  }

  // Cooperative launches can be captured from CUDA 11.1 on.
  void Enqueue() override {
    if (grid_.x == 0) return;  // no rank has a lane
    auto* many = many_ ? reinterpret_cast<const BlockCall*>(many_->data()) : nullptr;
    void* arguments[] = {&one_, &many};
    HOCKNEY_CHECK(cudaLaunchCooperativeKernel(kernel_, grid_, block_, arguments, 0, stream_));
  }

 private:
  cudaStream_t stream_;
  const void* kernel_;
  BlockCall one_;
  dim3 grid_;
  dim3 block_;
  std::shared_ptr<DeviceBuffer> many_;
};

class GraphLaunch : public DeviceLaunch {
 public:
  GraphLaunch(cudaStream_t stream, std::span<DeviceLaunch* const> launches)
      : stream_(stream), launches_(launches.begin(), launches.end()) {
    const CudaGraph graph = Capture();
    cudaGraphExec_t made = nullptr;
    HOCKNEY_CHECK(cudaGraphInstantiate(&made, graph.get(), 0));
    executable_.reset(made);
    HOCKNEY_CHECK(cudaGraphUpload(made, stream));
  }

  void Enqueue() override { HOCKNEY_CHECK(cudaGraphLaunch(executable_.get(), stream_)); }

 private:
  // The stream leaves the capture also where a launch cannot be captured.
  CudaGraph Capture() {
    cudaGraph_t captured = nullptr;
    HOCKNEY_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    try {
      for (DeviceLaunch* launch : launches_) launch->Enqueue();
    } catch (...) {
      static_cast<void>(cudaStreamEndCapture(stream_, &captured));
      const CudaGraph rest(captured);
      throw;
    }
    HOCKNEY_CHECK(cudaStreamEndCapture(stream_, &captured));
    return CudaGraph(captured);
  }

  cudaStream_t stream_;
  std::vector<DeviceLaunch*> launches_;
  CudaGraphExec executable_;
};

class EventMark : public DeviceMark {
 public:
  explicit EventMark(cudaStream_t stream) : stream_(stream), event_(MakeEvent()) {}

  void Enqueue() override { HOCKNEY_CHECK(cudaEventRecord(event_.get(), stream_)); }
  bool Reached() override {
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // or a later call would report it
      sched_yield();
      return false;
    }
    HOCKNEY_CHECK(status);
    return true;
  }
  double SecondsSince(const DeviceMark& earlier) const override {
    float milliseconds = 0;
    HOCKNEY_CHECK(cudaEventElapsedTime(
        &milliseconds, dynamic_cast<const EventMark&>(earlier).event_.get(), event_.get()));
    return milliseconds / 1e3;
  }

 private:
  cudaStream_t stream_;
  CudaEvent event_;
};

// Holds the stream back by a function of the host in it, which waits for the word.
class StreamGate {
 public:
  void Hold(cudaStream_t stream) {
    opened_.store(false, std::memory_order_relaxed);
    HOCKNEY_CHECK(cudaLaunchHostFunc(stream, WaitUntilOpened, this));
  }
  void Release() { opened_.store(true, std::memory_order_release); }

 private:
  // Runs on a thread of the driver and may call nothing of CUDA.
  static void WaitUntilOpened(void* gate) {
    const std::atomic<bool>& opened = static_cast<StreamGate*>(gate)->opened_;
    const Deadline deadline(kLongestSeconds);
    while (!opened.load(std::memory_order_acquire) && !deadline.passed()) sched_yield();
  }
  static constexpr double kLongestSeconds = 60;

  std::atomic<bool> opened_{true};
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
  void UseHere() override { HOCKNEY_CHECK(cudaSetDevice(ordinal_)); }
  std::string id() const override {
    std::string bus(32, '\0');
    HOCKNEY_CHECK(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal_));
    bus.resize(bus.find('\0'));
    for (char& c : bus) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return bus;
  }
  std::size_t cache_bytes() const override {
    return static_cast<std::size_t>(properties_.l2CacheSize);
  }
  void* stream() const override { return stream_.get(); }
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

  std::string WhyNoRdma() const override {
    int supported = 0;
    HOCKNEY_CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrGPUDirectRDMASupported, ordinal_));
    if (supported == 0) return Describe() + " does not support GPUDirect RDMA";
    const bool can_flush =
        (properties_.gpuDirectRDMAFlushWritesOptions & cudaFlushGPUDirectRDMAWritesOptionHost) != 0;
    if (keeps_order() || can_flush) return "";
    return Describe() + " can neither order nor flush what network cards write";
  }
  bool has_dma_buf() const override {
    int supported = 0;
    HOCKNEY_CHECK(
        driver_.get_attribute(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, ordinal_));
    return supported != 0;
  }
  void FlushRemoteWrites() override {
    if (keeps_order()) return;
    HOCKNEY_CHECK(cudaDeviceFlushGPUDirectRDMAWrites(
        cudaFlushGPUDirectRDMAWritesTargetCurrentDevice, cudaFlushGPUDirectRDMAWritesToOwner));
  }

  void EnqueueCopy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    HOCKNEY_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.get()));
  }
  void EnqueueFill(std::span<std::byte> bytes, std::byte value) override {
    HOCKNEY_CHECK(
        cudaMemsetAsync(bytes.data(), static_cast<int>(value), bytes.size(), stream_.get()));
  }
  std::unique_ptr<DeviceMark> MakeMark() override {
    return std::make_unique<EventMark>(stream_.get());
  }
  void Hold() override { gate_.Hold(stream_.get()); }
  void Release() override { gate_.Release(); }

  int usual_threads() const override { return kMostBlockThreads; }
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
    return std::make_unique<KernelLaunch>(stream_.get(), kernel, calls, threads);
  }
  std::unique_ptr<DeviceLaunch> MakeGraph(std::span<DeviceLaunch* const> launches) override {
    return std::make_unique<GraphLaunch>(stream_.get(), launches);
  }

 private:
  // Of what network cards write.
  bool keeps_order() const {
    return properties_.gpuDirectRDMAWritesOrdering >= cudaGPUDirectRDMAWritesOrderingOwner;
  }
  std::string Describe() const {
    return "GPU " + std::to_string(ordinal_) + " (" + properties_.name + ")";
  }

  int ordinal_;
  cudaDeviceProp properties_{};
  CudaDriver driver_;
  StreamGate gate_;  // outlives what the stream still has of it
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
