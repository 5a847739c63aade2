#include "tests/collectives/thread_device.h"

#include <fcntl.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
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
  void Moved() {
    waits_ = false;
    turns_ = 0;
  }
  bool IsOver(const BlockCall& call) {
    using Clock = std::chrono::steady_clock;
    // Threads that give way again and again come last for seconds beside other programs (Linux 6.6
    // and newer); one that sleeps does not.
    constexpr int kYields = 100;
    if (++turns_ < kYields) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    if (!waits_) since_ = Clock::now();
    waits_ = true;
    if (call.abort->load(std::memory_order_relaxed) != 0) return true;
    if (Clock::now() - since_ <= std::chrono::nanoseconds(call.timeout_ns)) return false;
    call.abort->store(1, std::memory_order_relaxed);
    return true;
  }

 private:
  bool waits_ = false;
  int turns_ = 0;
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

// What a device has been given to do, one thing after the other, on a thread of its own.
class ThreadQueue {
 public:
  ThreadQueue() : worker_([this] { Work(); }) {}
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;
  ~ThreadQueue() { Put(nullptr); }  // the worker ends there

  void Put(std::function<void()> thing) {
    {
      const std::lock_guard lock(mutex_);
      things_.push_back(std::move(thing));
    }
    changed_.notify_one();
  }

 private:
  void Work() {
    while (const std::function<void()> thing = Take()) thing();
  }
  std::function<void()> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !things_.empty(); });
    std::function<void()> thing = std::move(things_.front());
    things_.pop_front();
    return thing;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> things_;
  std::jthread worker_;
};

// A block of threads, with what it shares.
struct Block {
  explicit Block(int threads) : meeting(threads) {}
  ThreadTeam::Meeting meeting;
  BlockOperands operands;
};

class ThreadLaunch : public DeviceLaunch {
 public:
  ThreadLaunch(ThreadQueue& queue, std::span<const BlockCall> calls, LaneFunction function,
               int threads)
      : queue_(queue), calls_(calls.begin(), calls.end()), function_(function), threads_(threads) {}

  void Enqueue() override {
    queue_.Put([this] { RunBlocks(); });
  }

 private:
  void RunBlocks() {
    std::list<Block> blocks;
    std::vector<std::jthread> started;
    for (const BlockCall& call : calls_) {
      for (int lane = 0; lane < call.lanes; ++lane) {
        Block& block = blocks.emplace_back(threads_);
        for (int thread = 0; thread < threads_; ++thread) {
          started.emplace_back([this, &call, &block, lane, thread] {
            ThreadTeam team(block.meeting, thread, threads_);
            function_(call, lane, block.operands, team);
          });
        }
      }
    }
  }

  ThreadQueue& queue_;
  std::vector<BlockCall> calls_;
  LaneFunction function_;
  int threads_;
};

class ThreadGraph : public DeviceLaunch {
 public:
  explicit ThreadGraph(std::span<DeviceLaunch* const> launches)
      : launches_(launches.begin(), launches.end()) {}
  void Enqueue() override {
    for (DeviceLaunch* launch : launches_) launch->Enqueue();
  }

 private:
  std::vector<DeviceLaunch*> launches_;
};

class ThreadMark : public DeviceMark {
 public:
  explicit ThreadMark(ThreadQueue& queue) : queue_(queue) {}
  void Enqueue() override {
    queue_.Put([this] {
      time_ = std::chrono::steady_clock::now();
      reached_.fetch_add(1, std::memory_order_release);
    });
    ++enqueued_;
  }
  bool Reached() override {
    if (reached_.load(std::memory_order_acquire) == enqueued_) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(50));  // the cores are for the blocks
    return false;
  }
  double SecondsSince(const DeviceMark& earlier) const override {
    const auto begin = dynamic_cast<const ThreadMark&>(earlier).time_;
    return std::chrono::duration<double>(time_ - begin).count();
  }

 private:
  ThreadQueue& queue_;
  int enqueued_ = 0;
  std::atomic<int> reached_{0};
  std::chrono::steady_clock::time_point time_{};
};

class ThreadDevice : public Device {
 public:
  explicit ThreadDevice(const ThreadDeviceOptions& options) : options_(options) {}

  std::string name() const override { return "threads of this CPU"; }
  void UseHere() override {}
  std::string id() const override { return options_.id; }
  std::size_t cache_bytes() const override { return options_.cache_bytes; }
  void* stream() const override { return options_.stream; }
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
  std::string WhyNoRdma() const override { return "threads of this CPU are no GPU"; }
  bool has_dma_buf() const override { return false; }
  void FlushRemoteWrites() override {}
  void EnqueueCopy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    queue_.Put([=] { std::memcpy(to, from, bytes); });
  }
  void EnqueueFill(std::span<std::byte> bytes, std::byte value) override {
    queue_.Put([=] { std::ranges::fill(bytes, value); });
  }
  std::unique_ptr<DeviceMark> MakeMark() override { return std::make_unique<ThreadMark>(queue_); }
  void Hold() override {
    held_.lock();
    queue_.Put([this] { const std::lock_guard until_released(held_); });
  }
  void Release() override { held_.unlock(); }
  int usual_threads() const override { return 2; }
  int ResidentBlocks(DataType /*type*/, ReduceOp /*op*/, int /*threads*/) override {
    return options_.resident_blocks;
  }
  std::unique_ptr<DeviceLaunch> PrepareLaunch(std::span<const BlockCall> calls, DataType type,
                                              ReduceOp op, int threads) override {
    return std::make_unique<ThreadLaunch>(queue_, calls, FindFunction(type, op), threads);
  }
  std::unique_ptr<DeviceLaunch> MakeGraph(std::span<DeviceLaunch* const> launches) override {
    return std::make_unique<ThreadGraph>(launches);
  }

 private:
  ThreadDeviceOptions options_;
  std::mutex held_;
  ThreadQueue queue_;
};

}  // namespace

std::unique_ptr<Device> MakeThreadDevice(const ThreadDeviceOptions& options) {
  return std::make_unique<ThreadDevice>(options);
}

}  // namespace hockney::testing
