#include "collectives/executors/cuda/cuda_memory.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace hockney {
namespace {

CUdeviceptr AddressOf(const std::byte* data) { return reinterpret_cast<CUdeviceptr>(data); }

[[noreturn]] void FailForMemory(std::size_t bytes) {
  throw EnvironmentError("the GPU has no " + std::to_string(bytes) + " bytes of memory left");
}

// Memory of cudaMalloc.
class CudaBuffer : public DeviceBuffer {
 public:
  explicit CudaBuffer(std::size_t bytes) : bytes_(bytes) {
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, bytes > 0 ? bytes : 1);
    if (status == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());  // or a later launch would report it
      FailForMemory(bytes);
    }
    HOCKNEY_CHECK(status);
    data_.reset(static_cast<std::byte*>(data));
    HOCKNEY_CHECK(cudaMemset(data, 0, bytes));
    HOCKNEY_CHECK(cudaDeviceSynchronize());
  }
  std::byte* data() const override { return data_.get(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::unique_ptr<std::byte, Deleter<cudaFree>> data_;
  std::size_t bytes_;
};

class PinnedBuffer : public DeviceBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
    void* data = nullptr;
    HOCKNEY_CHECK(cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
    data_.reset(static_cast<std::byte*>(data));
    std::memset(data, 0, bytes);
  }
  std::byte* data() const override { return data_.get(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::unique_ptr<std::byte, Deleter<cudaFreeHost>> data_;
  std::size_t bytes_;
};

// Another process's memory, opened by a CUDA IPC handle.
class OpenedBuffer : public DeviceBuffer {
 public:
  explicit OpenedBuffer(const PeerHandle& handle) : offset_(handle.offset), bytes_(handle.bytes) {
    cudaIpcMemHandle_t ipc;
    if (handle.handle.size() != sizeof ipc) {
      throw BackendError("a CUDA IPC handle of " + std::to_string(handle.handle.size()) +
                         " bytes, expected " + std::to_string(sizeof ipc));
    }
    std::memcpy(&ipc, handle.handle.data(), sizeof ipc);
    void* base = nullptr;
    HOCKNEY_CHECK(cudaIpcOpenMemHandle(&base, ipc, cudaIpcMemLazyEnablePeerAccess));
    base_.reset(static_cast<std::byte*>(base));
  }
  std::byte* data() const override { return base_.get() + offset_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::unique_ptr<std::byte, Deleter<cudaIpcCloseMemHandle>> base_;
  std::size_t offset_;
  std::size_t bytes_;
};

CUmemAllocationProp FileMemoryOf(int ordinal) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  wanted.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal};
  return wanted;
}

// Memory that the driver's virtual memory functions made or imported, with an address range of its
// own.
class FileBuffer : public DeviceBuffer {
 public:
  FileBuffer(const CudaDriver& driver, CUmemGenericAllocationHandle allocation,
             std::size_t mapped_bytes, std::size_t bytes)
      : driver_(driver), allocation_(allocation), mapped_bytes_(mapped_bytes), bytes_(bytes) {}
  FileBuffer(const FileBuffer&) = delete;
  FileBuffer& operator=(const FileBuffer&) = delete;
  ~FileBuffer() override {  // what the driver says of it is ignored
    if (is_mapped_) driver_.unmap(address_, mapped_bytes_);
    if (address_ != 0) driver_.free_addresses(address_, mapped_bytes_);
    driver_.release(allocation_);
  }

  void Map() {
    HOCKNEY_CHECK(driver_.reserve(&address_, mapped_bytes_, 0, 0, 0));
    HOCKNEY_CHECK(driver_.map(address_, mapped_bytes_, 0, allocation_, 0));
    is_mapped_ = true;
  }
  void LetReach(int ordinal) const {
    const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal},
                                 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    HOCKNEY_CHECK(driver_.set_access(address_, mapped_bytes_, &access, 1));
  }
  PeerHandle Export() const {
    int file = -1;
    HOCKNEY_CHECK(
        driver_.export_handle(&file, allocation_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return {.handle = {}, .file = FileDescriptor(file), .offset = 0, .bytes = bytes_};
  }
  std::byte* data() const override { return std::bit_cast<std::byte*>(address_); }
  std::size_t bytes() const override { return bytes_; }

 private:
  CudaDriver driver_;
  CUmemGenericAllocationHandle allocation_;
  std::size_t mapped_bytes_;
  std::size_t bytes_;
  CUdeviceptr address_ = 0;
  bool is_mapped_ = false;
};

std::size_t RoundToGranularity(const CudaDriver& driver, int ordinal, std::size_t bytes) {
  const CUmemAllocationProp wanted = FileMemoryOf(ordinal);
  std::size_t unit = 0;
  HOCKNEY_CHECK(driver.granularity(&unit, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::shared_ptr<DeviceBuffer> AllocateCuda(std::size_t bytes) {
  return std::make_shared<CudaBuffer>(bytes);
}

std::shared_ptr<DeviceBuffer> AllocatePinned(std::size_t bytes) {
  return std::make_shared<PinnedBuffer>(bytes);
}

std::shared_ptr<DeviceBuffer> AllocateCudaFile(const CudaDriver& driver, int ordinal,
                                               std::size_t bytes) {
  const std::size_t mapped = RoundToGranularity(driver, ordinal, bytes > 0 ? bytes : 1);
  const CUmemAllocationProp wanted = FileMemoryOf(ordinal);
  CUmemGenericAllocationHandle allocation = 0;
  const CUresult status = driver.create(&allocation, mapped, &wanted, 0);
  if (status == CUDA_ERROR_OUT_OF_MEMORY) FailForMemory(bytes);
  HOCKNEY_CHECK(status);
  auto buffer = std::make_shared<FileBuffer>(driver, allocation, mapped, bytes);
  buffer->Map();
  buffer->LetReach(ordinal);
  HOCKNEY_CHECK(cudaMemset(buffer->data(), 0, bytes));
  HOCKNEY_CHECK(cudaDeviceSynchronize());
  return buffer;
}

PeerHandle ExportCuda(const CudaDriver& driver, const DeviceBuffer& buffer) {
  if (const auto* file = dynamic_cast<const FileBuffer*>(&buffer)) return file->Export();
  // A handle is of the whole block that the allocator took from the driver.
  CUdeviceptr base = 0;
  std::size_t block_bytes = 0;
  HOCKNEY_CHECK(driver.get_address_range(&base, &block_bytes, AddressOf(buffer.data())));
  cudaIpcMemHandle_t ipc;
  HOCKNEY_CHECK(cudaIpcGetMemHandle(&ipc, std::bit_cast<void*>(base)));
  const auto bytes = std::as_bytes(std::span(&ipc, 1));
  return {.handle = {bytes.begin(), bytes.end()},
          .file = {},
          .offset = AddressOf(buffer.data()) - base,
          .bytes = buffer.bytes()};
}

std::shared_ptr<DeviceBuffer> OpenCuda(const PeerHandle& handle) {
  return std::make_shared<OpenedBuffer>(handle);
}

std::shared_ptr<DeviceBuffer> OpenCudaFile(const CudaDriver& driver, int ordinal,
                                           const PeerHandle& handle) {
  const std::size_t mapped = RoundToGranularity(driver, ordinal, handle.bytes);
  CUmemGenericAllocationHandle allocation = 0;
  const auto file = static_cast<std::uintptr_t>(handle.file.get());
  HOCKNEY_CHECK(driver.import_handle(&allocation, std::bit_cast<void*>(file),
                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  auto buffer = std::make_shared<FileBuffer>(driver, allocation, mapped, handle.bytes);
  buffer->Map();
  buffer->LetReach(ordinal);
  return buffer;
}

void ReachCuda(const DeviceBuffer& buffer, int ordinal) {
  if (const auto* file = dynamic_cast<const FileBuffer*>(&buffer)) {
    file->LetReach(ordinal);
    return;
  }
  cudaPointerAttributes owner{};
  HOCKNEY_CHECK(cudaPointerGetAttributes(&owner, buffer.data()));
  if (owner.device == ordinal) return;
  int can = 0;
  HOCKNEY_CHECK(cudaDeviceCanAccessPeer(&can, ordinal, owner.device));
  if (can == 0) {
    throw EnvironmentError("GPU " + std::to_string(ordinal) + " cannot reach the memory of GPU " +
                           std::to_string(owner.device) + ": no peer access between them");
  }
  const cudaError_t status = cudaDeviceEnablePeerAccess(owner.device, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());
    return;
  }
  HOCKNEY_CHECK(status);
}

}  // namespace hockney
