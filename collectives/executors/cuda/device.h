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

// Calls that are started together, as one: every rank's lanes run at the same time. One at a time
// is under way on a device.
class DeviceLaunch {
 public:
  DeviceLaunch() = default;
  DeviceLaunch(const DeviceLaunch&) = delete;
  DeviceLaunch& operator=(const DeviceLaunch&) = delete;
  virtual ~DeviceLaunch() = default;
  virtual void Start() = 0;  // does not wait; what Write put there before is seen
  // Whether what was started last has ended. Throws BackendError if the device failed.
  virtual bool Finished() = 0;
  // Starts it `count` times in a row, waits, and returns the seconds a start by the device's clock.
  virtual double Time(int count) = 0;
  // The same of `calls` starts captured into a graph, which is replayed `replays` times.
  virtual double TimeGraph(int calls, int replays) = 0;
};

// A device that runs programs in blocks of threads: a GPU, or threads of this CPU that stand in for
// one in tests. One thread uses it. Functions throw BackendError when the device refuses, and
// EnvironmentError where it lacks memory.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual std::string name() const = 0;

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
  // Copies on the device `count` times, waits, and returns the seconds a copy by its clock.
  virtual double TimeCopy(std::byte* to, const std::byte* from, std::size_t bytes, int count) = 0;

  // Blocks of `threads` threads for this type and operator that can be on the device at a time.
  virtual int ResidentBlocks(DataType type, ReduceOp op, int threads) = 0;
  // Loads the code. `calls`, one a rank, are copied; what they point to outlives the launch.
  virtual std::unique_ptr<DeviceLaunch> PrepareLaunch(std::span<const BlockCall> calls,
                                                      DataType type, ReduceOp op, int threads) = 0;
};

}  // namespace hockney
