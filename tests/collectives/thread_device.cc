#include "tests/collectives/thread_device.h"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <list>
#include <stdexcept>
#include <thread>
#include <utility>

#include "collectives/executors/cuda/block_machine.h"
#include "collectives/memory/shared_segment.h"
#include "tests/collectives/thread_team.h"

namespace hockney::testing {
namespace {

class ThreadWaiting {
 public:
  void Moved() { waits_ = false; }
  bool IsOver(const BlockCall& call) {
    using Clock = std::chrono::steady_clock;
    sched_yield();
    if (!waits_) since_ = Clock::now();
    waits_ = true;
    if (call.abort->load(std::memory_order_relaxed) != 0) return true;
    if (Clock::now() - since_ <= std::chrono::nanoseconds(call.timeout_ns)) return false;
    call.abort->store(1, std::memory_order_relaxed);
    return true;
  }

 private:
  bool waits_ = false;
  std::chrono::steady_clock::time_point since_{};
};

using LaneFunction = void (*)(const BlockCall& call, int lane, BlockOperands& operands,
                              ThreadTeam& team);

template <Element E, ReduceOp kOp>
void RunThread(const BlockCall& call, int lane, BlockOperands& operands, ThreadTeam& team) {
  BlockMachine<ThreadTeam, E, kOp> machine(call, operands, team);
  ThreadWaiting waiting;
  RunLane(call, {lane, call.programs[lane]}, machine, team, waiting);
}

template <Element E>
LaneFunction FindOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return RunThread<E, ReduceOp::kSum>;
    case ReduceOp::kProd:
      return RunThread<E, ReduceOp::kProd>;
    case ReduceOp::kMin:
      return RunThread<E, ReduceOp::kMin>;
    case ReduceOp::kMax:
      return RunThread<E, ReduceOp::kMax>;
    case ReduceOp::kAvg:
      return RunThread<E, ReduceOp::kAvg>;
  }
  throw std::invalid_argument("unknown ReduceOp");
}

LaneFunction FindFunction(DataType type, ReduceOp op) {
  return VisitElement(type, [op]<Element E>(E) { return FindOp<E>(op); });
}

class ThreadBuffer : public DeviceBuffer {
 public:
  explicit ThreadBuffer(std::size_t bytes) : bytes_(bytes) {
    OwnSegment own = MakeSegment(bytes);
    file_ = std::move(own.file);
    mapping_ = std::move(own.mapping);
  }
  explicit ThreadBuffer(const PeerHandle& handle)
      : bytes_(handle.bytes),
        offset_(handle.offset),
        mapping_(std::make_shared<SharedMapping>(handle.file,
                                                 SegmentBytes(handle.offset + handle.bytes))) {}
  std::byte* data() const override { return mapping_->bytes().data() + offset_; }
  std::size_t bytes() const override { return bytes_; }
  PeerHandle Export() const {
    return {.handle = {},
            .file = FileDescriptor(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0)),
            .offset = 0,
            .bytes = bytes_};
  }

 private:
  std::size_t bytes_;
  std::size_t offset_ = 0;
  FileDescriptor file_;
  std::shared_ptr<const SharedMapping> mapping_;
};

template <class Work>
double SecondsOf(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A block of threads, with what it shares.
struct Block {
  explicit Block(int threads) : meeting(threads) {}
  ThreadTeam::Meeting meeting;
  BlockOperands operands;
};

class ThreadLaunch : public DeviceLaunch {
 public:
  ThreadLaunch(std::span<const BlockCall> calls, LaneFunction function, int threads)
      : calls_(calls.begin(), calls.end()), function_(function), threads_(threads) {}

  void Start() override {
    for (const BlockCall& call : calls_) running_ += call.lanes * threads_;
    for (const BlockCall& call : calls_) {
      for (int lane = 0; lane < call.lanes; ++lane) StartBlock(call, lane);
    }
  }
  bool Finished() override {
    if (running_.load(std::memory_order_acquire) > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));  // the cores are for the blocks
      return false;
    }
    started_.clear();  // joins
    blocks_.clear();
    return true;
  }
  double TimeGraph(int calls, int replays) override { return Time(calls * replays); }
  double Time(int count) override {
    return SecondsOf([&] {
             for (int i = 0; i < count; ++i) {
               Start();
               while (!Finished()) continue;
             }
           }) /
           count;
  }

 private:
  void StartBlock(const BlockCall& call, int lane) {
    Block& block = blocks_.emplace_back(threads_);
    for (int thread = 0; thread < threads_; ++thread) {
      started_.emplace_back([this, &call, &block, lane, thread] {
        ThreadTeam team(block.meeting, thread, threads_);
        function_(call, lane, block.operands, team);
        running_.fetch_sub(1, std::memory_order_release);
      });
    }
  }

  std::vector<BlockCall> calls_;
  LaneFunction function_;
  int threads_;
  std::atomic<int> running_{0};
  std::list<Block> blocks_;
  std::vector<std::jthread> started_;
};

class ThreadDevice : public Device {
 public:
  explicit ThreadDevice(const ThreadDeviceOptions& options) : options_(options) {}

  std::string name() const override { return "threads of this CPU"; }
  std::shared_ptr<DeviceBuffer> Allocate(std::size_t bytes, PeerMemoryKind /*kind*/) override {
    return std::make_shared<ThreadBuffer>(bytes);
  }
  std::shared_ptr<DeviceBuffer> AllocateOnHost(std::size_t bytes) override {
    return std::make_shared<ThreadBuffer>(bytes);
  }
  PeerHandle Export(const DeviceBuffer& buffer) override {
    return dynamic_cast<const ThreadBuffer&>(buffer).Export();
  }
  std::shared_ptr<DeviceBuffer> Open(const PeerHandle& handle, PeerMemoryKind kind) override {
    if (kind != PeerMemoryKind::kFileDescriptor) {
      throw std::invalid_argument("thread device: memory is opened by file descriptors only");
    }
    return std::make_shared<ThreadBuffer>(handle);
  }
  void ReachMemoryOf(const DeviceBuffer& /*buffer*/) override {}
  void Write(std::byte* to, std::span<const std::byte> from) override {
    std::ranges::copy(from, to);
  }
  void Read(std::span<std::byte> to, const std::byte* from) override {
    std::copy_n(from, to.size(), to.begin());
    if (options_.corrupts) to[to.size() / 2] ^= std::byte{1};
  }
  double TimeCopy(std::byte* to, const std::byte* from, std::size_t bytes, int count) override {
    return SecondsOf([&] {
             for (int i = 0; i < count; ++i) std::memcpy(to, from, bytes);
           }) /
           count;
  }
  int ResidentBlocks(DataType /*type*/, ReduceOp /*op*/, int /*threads*/) override {
    return options_.resident_blocks;
  }
  std::unique_ptr<DeviceLaunch> PrepareLaunch(std::span<const BlockCall> calls, DataType type,
                                              ReduceOp op, int threads) override {
    return std::make_unique<ThreadLaunch>(calls, FindFunction(type, op), threads);
  }

 private:
  ThreadDeviceOptions options_;
};

}  // namespace

std::unique_ptr<Device> MakeThreadDevice(const ThreadDeviceOptions& options) {
  return std::make_unique<ThreadDevice>(options);
}

}  // namespace hockney::testing
