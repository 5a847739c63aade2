#include "tests/collectives/block_executor.h"

#include <sched.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "collectives/executors/cuda/block_machine.h"
#include "collectives/executors/cuda/lowering.h"
#include "collectives/executors/in_place.h"
#include "tests/collectives/thread_team.h"
#include "topology/check.h"

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
  RunLane(call, lane, machine, team, waiting);
}

template <Element E>
LaneFunction FindOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return RunThread<E, ReduceOp::kSum>;
    case ReduceOp::kAvg:
      return RunThread<E, ReduceOp::kAvg>;
    case ReduceOp::kMax:
      return RunThread<E, ReduceOp::kMax>;
    default:
      throw std::invalid_argument("block executor: an operator without an instance");
  }
}

LaneFunction FindFunction(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat32:
      return FindOp<NativeElement<float>>(op);
    case DataType::kFloat64:
      return FindOp<NativeElement<double>>(op);
    case DataType::kInt32:
      return FindOp<NativeElement<std::int32_t>>(op);
    case DataType::kInt8:
      return FindOp<NativeElement<std::int8_t>>(op);
    case DataType::kBfloat16:
      return FindOp<Bfloat16>(op);
    default:
      throw std::invalid_argument("block executor: a type without an instance");
  }
}

// Where a rank's buffers are; all ranks are in one process.
struct Told {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  bool in_place = false;
};

std::vector<Told> TellAll(Session& session, const Told& mine) {
  std::vector<Told> all;
  for (const auto& bytes : session.AllGather(std::as_bytes(std::span(&mine, 1)))) {
    all.emplace_back();
    std::memcpy(&all.back(), bytes.data(), sizeof mine);
  }
  return all;
}

struct BlockOptions {
  int threads = 1;
  double timeout_seconds = 60;
};

class BlockPrepared : public Prepared {
 public:
  BlockPrepared(HostDomain& domain, const RankProgram& program, const Layout& layout,
                const BlockOptions& options)
      : options_(options),
        lowered_(Lower(program, layout)),
        lane_tokens_(program.lanes.size() * program.lanes.size()),
        reports_(program.lanes.size()) {
    scratch_.resize(program.uses_scratch ? layout.BufferBytes(program.rank, Buffer::kScratch) : 0);
    const auto lanes = static_cast<int>(program.lanes.size());
    for (int lane = 0; lane < lanes; ++lane) {
      const int begin = lowered_.group_begin[lane];
      groups_.push_back(
          {begin < 0 ? nullptr : lowered_.members.data() + begin, lowered_.group_size[lane]});
    }
    call_ = {.rank = program.rank,
             .ranks = domain.ranks(),
             .lanes = lanes,
             .slots = domain.options().limits.slots,
             .slot_bytes = domain.options().limits.slot_bytes,
             .packet_words = domain.PacketWords(),
             .programs = lowered_.lanes.data(),
             .groups = groups_.data(),
             .scratch = scratch_.data(),
             .scratch_chunks = lowered_.chunks.data() + lowered_.scratch_begin,
             .connections = &domain.At(0, 0),
             .lane_tokens = lane_tokens_.data(),
             .abort = &abort_,
             .timeout_ns = static_cast<std::uint64_t>(options.timeout_seconds * 1e9),
             .reports = reports_.data()};
  }

  void SetBuffers(const std::vector<Told>& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      buffers_.push_back({all[rank].input, all[rank].output,
                          lowered_.chunks.data() + lowered_.input_begin[rank],
                          lowered_.chunks.data() + lowered_.output_begin[rank]});
    }
    call_.buffers = buffers_.data();
  }
  void SetFlow(const CallFlow& flow, LaneFunction function) {
    call_.slices = flow.flow.slices;
    call_.slice_bytes = flow.slice_bytes;
    function_ = function;
  }

  void Run() override {
    std::vector<BlockOperands> operands(call_.lanes);
    std::vector<std::unique_ptr<ThreadTeam::Meeting>> meetings;
    for (int lane = 0; lane < call_.lanes; ++lane) {
      meetings.push_back(std::make_unique<ThreadTeam::Meeting>(options_.threads));
    }
    std::vector<std::jthread> threads;
    for (int lane = 0; lane < call_.lanes; ++lane) {
      for (int thread = 0; thread < options_.threads; ++thread) {
        threads.emplace_back([this, lane, thread, &operands, &meetings] {
          ThreadTeam team(*meetings[lane], thread, options_.threads);
          function_(call_, lane, operands[lane], team);
        });
      }
    }
    threads.clear();  // joins
    for (int lane = 0; lane < call_.lanes; ++lane) {
      if (reports_[lane].gave_up == 0) continue;
      throw TimeoutError("lane " + std::to_string(lane) + " gave up at step " +
                         std::to_string(reports_[lane].step));
    }
  }

 private:
  BlockOptions options_;
  LoweredProgram lowered_;
  std::vector<BlockLaneTokens> lane_tokens_;
  std::vector<BlockReport> reports_;
  std::vector<std::byte> scratch_;
  std::vector<RankGroup> groups_;
  std::vector<BlockBuffers> buffers_;
  std::atomic<std::uint32_t> abort_{0};
  BlockCall call_;
  LaneFunction function_ = nullptr;
};

}  // namespace

Preparer MakeBlockPreparer(Session& session, HostDomain& domain, int threads,
                           double timeout_seconds) {
  return [&session, &domain, threads, timeout_seconds](const Call& call, const Algorithm& row,
                                                       const CallFlow& flow,
                                                       StorePolicy) -> std::unique_ptr<Prepared> {
    const int rank = session.rank();
    const Layout layout(call.counts, call.type, flow.cut);
    const auto all = TellAll(session, {call.input, call.output, IsInPlace(call, layout, rank)});
    Parameters parameters = flow.parameters;
    for (const Told& told : all) parameters.in_place = parameters.in_place || told.in_place;
    const RankProgram program = row.build(call.shape, rank, parameters);
    auto prepared = std::make_unique<BlockPrepared>(domain, program, layout,
                                                    BlockOptions{threads, timeout_seconds});
    prepared->SetBuffers(all);
    prepared->SetFlow(flow, FindFunction(call.type, call.op));
    return prepared;
  };
}

}  // namespace hockney::testing
