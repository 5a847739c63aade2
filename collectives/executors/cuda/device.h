#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/executors/cuda/block_call.h"
#include "collectives/types.h"
#include "topology/file_descriptor.h"

namespace hockney {

// Memory on a device, or of the host where the device reaches it; given back in the end.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  virtual ~DeviceBuffer() = default;
  virtual std::byte* data() const = 0;  // as the device and its process know it
  virtual std::size_t bytes() const = 0;
};

// How ranks that are processes give each other memory: as a handle that is copied (CUDA IPC), or as
// a file descriptor that is passed (CUDA virtual memory; memfd for a device that is no GPU).
// Threads of one process need neither.
enum class PeerMemoryKind { kCudaIpc, kFileDescriptor };

// What one process tells others of its memory. `offset` is where the memory begins in what the
// handle opens: allocators hand out parts of larger blocks, and handles are of whole blocks.
struct PeerHandle {
  std::vector<std::byte> handle = {};  // kCudaIpc
  FileDescriptor file = {};            // kFileDescriptor
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // from there on
};

// Something that goes into a device's queue as one piece, any number of times.
class DeviceLaunch {
 public:
  DeviceLaunch() = default;
  DeviceLaunch(const DeviceLaunch&) = delete;
  DeviceLaunch& operator=(const DeviceLaunch&) = delete;
  virtual ~DeviceLaunch() = default;
  virtual void Enqueue() = 0;  // does not wait; what Write put there before is seen
};

// A place in a device's queue.
class DeviceMark {
 public:
  DeviceMark() = default;
  DeviceMark(const DeviceMark&) = delete;
  DeviceMark& operator=(const DeviceMark&) = delete;
  virtual ~DeviceMark() = default;
  virtual void Enqueue() = 0;
  // Whether the device has come to where the mark was enqueued last. Throws BackendError if the
  // device failed. Gives way to other threads where it has not.
  virtual bool Reached() = 0;
  // Seconds by the device's clock since it came to `earlier`, a mark of the same device; both have
  // been reached.
  virtual double SecondsSince(const DeviceMark& earlier) const = 0;
};

// A device that runs programs in blocks of threads: a GPU, or threads of this CPU that stand in for
// one in tests. What is enqueued runs in that order, one thing after the other. One thread at a
// time uses the device. Functions throw BackendError when it refuses, and EnvironmentError where it
// lacks memory.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  // What a thread calls first that did not open the device.
  virtual void UseHere() = 0;
  // The same for all processes of a host that use this device, and for no other: of a GPU the PCI
  // bus id as sysfs writes it.
  virtual std::string id() const = 0;
  virtual std::size_t cache_bytes() const = 0;  // of the cache that all its blocks share
  // The cudaStream_t that is the queue; null for a device that is no GPU.
  virtual void* stream() const = 0;

  // Zeroed memory on the device that others can open by a handle of this kind.
  virtual std::shared_ptr<DeviceBuffer> Allocate(std::size_t bytes, PeerMemoryKind kind) = 0;
  // Zeroed memory of the host that the device reaches at the same address.
  virtual std::shared_ptr<DeviceBuffer> AllocateOnHost(std::size_t bytes) = 0;

  virtual PeerHandle Export(const DeviceBuffer& buffer) = 0;
  virtual std::shared_ptr<DeviceBuffer> Open(const PeerHandle& handle, PeerMemoryKind kind) = 0;
  // The memory of another thread's device, so that this one reaches it too.
  virtual void ReachMemoryOf(const DeviceBuffer& buffer) = 0;

  // Copy, and return when it is done.
  virtual void Write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void Read(std::span<std::byte> to, const std::byte* from) = 0;
  // Why network cards cannot reach its memory, or "".
  virtual std::string WhyNoRdma() const = 0;
  // Whether its driver gives its memory to other drivers as DMA-BUFs.
  virtual bool has_dma_buf() const = 0;
  // What network cards have written to its memory is seen by blocks that hear of it from now on;
  // does nothing where the device keeps that order by itself.
  virtual void FlushRemoteWrites() = 0;

  virtual void EnqueueCopy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void EnqueueFill(std::span<std::byte> bytes, std::byte value) = 0;
  virtual std::unique_ptr<DeviceMark> MakeMark() = 0;
  // What is enqueued from Hold on begins at Release, so that the host's part is over by then. The
  // device goes on by itself if Release does not come within a minute.
  virtual void Hold() = 0;
  virtual void Release() = 0;

  virtual int usual_threads() const = 0;  // of a block
  // Blocks of `threads` threads for this type and operator that can be on the device at a time.
  virtual int ResidentBlocks(DataType type, ReduceOp op, int threads) = 0;
  // Calls that start together: every rank's lanes run at the same time. Loads the code. `calls`,
  // one a rank, are copied; what they point to outlives the launch.
  virtual std::unique_ptr<DeviceLaunch> PrepareLaunch(std::span<const BlockCall> calls,
                                                      DataType type, ReduceOp op, int threads) = 0;
  // The launches one after the other as one, which the device repeats without the host in between
  // (a captured graph). They outlive it.
  virtual std::unique_ptr<DeviceLaunch> MakeGraph(std::span<DeviceLaunch* const> launches) = 0;
};

}  // namespace hockney
