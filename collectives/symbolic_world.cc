#include "collectives/symbolic_world.h"

#include <algorithm>

#include "collectives/expectation.h"

namespace hockney {
namespace {

int CountLanes(std::span<const CallPlan> plans) {
  std::size_t lanes = 1;
  for (const CallPlan& plan : plans) {
    for (const RankProgram& program : plan.programs) lanes = std::max(lanes, program.lanes.size());
  }
  return static_cast<int>(lanes);
}

constexpr const char* kBufferNames[] = {"input", "output", "scratch", "slots", "packets"};

}  // namespace

SymbolicWorld::SymbolicWorld(std::span<const CallPlan> plans, std::span<const int> order,
                             const Flow& flow)
    : plans_(plans),
      order_(order),
      flow_(flow),
      rank_count_(static_cast<int>(plans[0].programs.size())),
      max_lanes_(CountLanes(plans)),
      sets_(rank_count_),
      clocks_(rank_count_ * max_lanes_),
      ranks_(rank_count_),
      cells_(plans.size() * rank_count_ * 3),
      index_(static_cast<std::size_t>(rank_count_) * rank_count_ * max_lanes_ * 4, -1),
      lane_tokens_(static_cast<std::size_t>(rank_count_) * max_lanes_ * max_lanes_) {
  verdict_.wire_bytes.assign(rank_count_, 0);
  for (std::size_t plan = 0; plan < plans.size(); ++plan) {
    const Layout& layout = *plans[plan].layout;
    for (int rank = 0; rank < rank_count_; ++rank) {
      for (const Buffer buffer : {Buffer::kInput, Buffer::kOutput, Buffer::kScratch}) {
        const bool absent = buffer == Buffer::kScratch && !plans[plan].programs[rank].uses_scratch;
        BufferOf(static_cast<int>(plan), rank, buffer)
            .resize(absent
                        ? 0
                        : static_cast<std::size_t>(layout.ChunkCount(rank, buffer)) * flow.slices);
      }
    }
  }
}

std::vector<Cell>& SymbolicWorld::BufferOf(int plan, int rank, Buffer buffer) {
  return cells_[(static_cast<std::size_t>(plan) * rank_count_ + rank) * 3 +
                static_cast<int>(buffer)];
}

std::string SymbolicWorld::Where(int rank, int lane) const {
  return std::string(Name(ProgramOf(rank).shape.collective)) + " rank " + std::to_string(rank) +
         " lane " + std::to_string(lane) + " step " + std::to_string(ranks_[rank].lanes[lane].step);
}

std::string SymbolicWorld::ThreadName(int thread) const {
  const int lane = thread % max_lanes_;
  return "rank " + std::to_string(thread / max_lanes_) +
         (lane == 0 ? " (lane 0 or its user)" : " lane " + std::to_string(lane));
}

void SymbolicWorld::CheckRace(int racer, int thread, const char* what, int owner) {
  if (racer < 0) return;
  throw Fault{FaultKind::kRace, ThreadName(thread) + " " + what + " a chunk of rank " +
                                    std::to_string(owner) + " in no order with " +
                                    ThreadName(racer)};
}

Cell& SymbolicWorld::CellOf(int accessing_rank, int owner, Buffer buffer, int chunk, int slice) {
  const int plan = order_[ranks_[accessing_rank].call];
  const RankPlacement* placement = plans_[plan].placement;
  if (placement != nullptr &&
      placement->node_of_rank[owner] != placement->node_of_rank[accessing_rank]) {
    throw Fault{FaultKind::kMalformed, "rank " + std::to_string(accessing_rank) +
                                           " touches memory of rank " + std::to_string(owner) +
                                           ", which is on another node"};
  }
  Buffer place = buffer;
  int index = chunk;
  if (plans_[plan].in_place && buffer != Buffer::kScratch) {
    const Layout::InPlace alias = plans_[plan].layout->FindInPlace(owner);
    const bool has_both = plans_[plan].layout->ChunkCount(owner, Buffer::kInput) > 0 &&
                          plans_[plan].layout->ChunkCount(owner, Buffer::kOutput) > 0;
    const Buffer inner = alias.input_inside_output ? Buffer::kInput : Buffer::kOutput;
    if (has_both && buffer == inner) {
      if (chunk < 0 || chunk >= plans_[plan].layout->ChunkCount(owner, buffer)) index = -1;
      place = inner == Buffer::kInput ? Buffer::kOutput : Buffer::kInput;
      if (index >= 0) index += alias.chunk_offset;
    }
  }
  std::vector<Cell>& cells = BufferOf(plan, owner, place);
  const std::int64_t cell = static_cast<std::int64_t>(index) * flow_.slices + slice;
  if (index < 0 || cell >= static_cast<std::int64_t>(cells.size())) {
    throw Fault{FaultKind::kMalformed,
                "rank " + std::to_string(accessing_rank) + " touches chunk " +
                    std::to_string(chunk) + " of rank " + std::to_string(owner) + "'s " +
                    kBufferNames[static_cast<int>(buffer)] + ", which has no such chunk"};
  }
  return cells[cell];
}

// The user writes inputs and reads outputs whenever no call is running: both count as accesses on
// entry and on return.
void SymbolicWorld::TouchUserBuffers(int rank, bool entering) {
  const Layout& layout = *PlanOf(rank).layout;
  const int user = UserOf(rank);
  for (const Buffer buffer : {Buffer::kOutput, Buffer::kInput}) {
    for (int chunk = 0; chunk < layout.ChunkCount(rank, buffer); ++chunk) {
      for (int slice = 0; slice < flow_.slices; ++slice) {
        Cell& cell = CellOf(rank, rank, buffer, chunk, slice);
        CheckRace(cell.Write(clocks_, user), user, "rewrites", rank);
        if (!entering) continue;
        cell.symbol = Symbol{};
        if (buffer == Buffer::kInput) {
          cell.symbol = {static_cast<std::int64_t>(chunk) * flow_.slices + slice,
                         sets_.Single(rank), ranks_[rank].call, false};
        }
      }
    }
  }
}

// A lane must name a group that has its rank, and every rank of it once.
void SymbolicWorld::CheckGroups(int rank) const {
  const RankProgram& program = ProgramOf(rank);
  for (const Lane& lane : program.lanes) {
    if (lane.group < 0) continue;
    std::vector<std::int16_t> members;
    if (lane.group < static_cast<int>(program.groups.size())) members = program.groups[lane.group];
    std::sort(members.begin(), members.end());
    const bool in_range = !members.empty() && members[0] >= 0 && members.back() < rank_count_;
    const bool twice = std::adjacent_find(members.begin(), members.end()) != members.end();
    if (in_range && !twice && std::binary_search(members.begin(), members.end(), rank)) continue;
    throw Fault{FaultKind::kMalformed,
                "rank " + std::to_string(rank) + " has a lane in a group that is none, or not its"};
  }
}

void SymbolicWorld::EnterCall(int rank) {
  CheckGroups(rank);
  RankState& state = ranks_[rank];
  TouchUserBuffers(rank, true);
  for (Cell& cell : BufferOf(order_[state.call], rank, Buffer::kScratch)) cell.symbol = Symbol{};
  const std::size_t lanes = ProgramOf(rank).lanes.size();
  state.lanes.assign(lanes, LaneState{});
  state.entered.push_back(clocks_.Touch(UserOf(rank)));
  const Released start = clocks_.Release(UserOf(rank));
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    clocks_.Acquire(ThreadOf(rank, static_cast<int>(lane)), start);
  }
}

void SymbolicWorld::CheckOutput(int rank) {
  const Layout& layout = *PlanOf(rank).layout;
  for (int chunk = 0; chunk < layout.ChunkCount(rank, Buffer::kOutput); ++chunk) {
    if (layout.IsHole(rank, Buffer::kOutput, chunk)) continue;
    const ChunkExpectation expected = ExpectChunk(layout, rank, chunk);
    for (int slice = 0; slice < flow_.slices; ++slice) {
      const Symbol wanted{
          static_cast<std::int64_t>(expected.chunk) * flow_.slices + slice,
          expected.rank == ChunkExpectation::kAllRanks ? sets_.All() : sets_.Single(expected.rank),
          ranks_[rank].call, expected.reduced};
      Cell& cell = CellOf(rank, rank, Buffer::kOutput, chunk, slice);
      CheckRace(cell.Read(clocks_, UserOf(rank)), UserOf(rank), "reads", rank);
      if (cell.symbol == wanted) continue;
      const Symbol& got = cell.symbol;
      throw Fault{FaultKind::kWrongResult,
                  "rank " + std::to_string(rank) + " output chunk " + std::to_string(chunk) +
                      (got.origin < 0 ? " was not written"
                                      : " holds " + std::to_string(sets_.Size(got.set)) +
                                            " contributions to input chunk " +
                                            std::to_string(got.origin / flow_.slices) +
                                            (got.final ? " (final)" : "") + ", expected " +
                                            std::to_string(sets_.Size(wanted.set)) + " to chunk " +
                                            std::to_string(expected.chunk))};
    }
  }
}

void SymbolicWorld::LeaveCall(int rank) {
  const RankProgram& program = ProgramOf(rank);
  for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
    clocks_.Acquire(UserOf(rank), clocks_.Release(ThreadOf(rank, static_cast<int>(lane))));
  }
  CheckOutput(rank);
  if (program.shape.collective == Collective::kBarrier) {
    const auto call = static_cast<std::size_t>(ranks_[rank].call);
    for (int other = 0; other < rank_count_; ++other) {
      const std::vector<std::uint32_t>& entered = ranks_[other].entered;
      if (entered.size() <= call || !clocks_.Knows(UserOf(rank), UserOf(other), entered[call])) {
        throw Fault{FaultKind::kWrongResult, "rank " + std::to_string(rank) +
                                                 " leaves the barrier before rank " +
                                                 std::to_string(other) + " entered"};
      }
    }
  }
  TouchUserBuffers(rank, false);
  ++ranks_[rank].call;
}

// Runs the rank as far as it gets; returns whether anything moved.
bool SymbolicWorld::RunRank(int rank) {
  RankState& state = ranks_[rank];
  bool moved = false;
  SymbolicMachine machine(*this, rank);
  while (state.call < static_cast<int>(order_.size())) {
    const RankProgram& program = ProgramOf(rank);
    bool moved_now = false;
    bool done = true;
    for (std::size_t lane = 0; lane < program.lanes.size(); ++lane) {
      Progress progress = Progress::kMoved;
      while (progress == Progress::kMoved) {
        progress = Advance(program.lanes[lane], static_cast<int>(lane), flow_.slices,
                           state.lanes[lane], machine);
        moved_now = moved_now || progress == Progress::kMoved;
      }
      done = done && progress == Progress::kDone;
    }
    moved = moved || moved_now;
    if (done) {
      LeaveCall(rank);
      moved = true;
      if (state.call < static_cast<int>(order_.size())) EnterCall(rank);
    } else if (!moved_now) {
      break;
    }
  }
  return moved;
}

bool SymbolicWorld::RunAll(std::optional<std::chrono::steady_clock::time_point> deadline) {
  for (int rank = 0; rank < rank_count_; ++rank) EnterCall(rank);
  bool moved = true;
  while (moved) {
    moved = false;
    for (int rank = 0; rank < rank_count_; ++rank) {
      moved = RunRank(rank) || moved;
      if (deadline && std::chrono::steady_clock::now() > *deadline) return false;
    }
  }
  for (const RankState& state : ranks_) {
    if (state.call < static_cast<int>(order_.size())) ThrowDeadlock();
  }
  CheckNothingLeft();
  return true;
}

std::string SymbolicWorld::DescribeWait(int rank, int lane) const {
  const Step& step = ProgramOf(rank).lanes[lane].steps[ranks_[rank].lanes[lane].step];
  const bool waited = ranks_[rank].lanes[lane].waited || step.wait_count == 0;
  std::string text = Where(rank, lane) + " waits for ";
  if (!waited) return text + "a token";
  const bool receives = std::any_of(step.source, step.source + step.source_count, IsFifo);
  return text + (receives ? "a message or a credit" : "a credit");
}

void SymbolicWorld::ThrowDeadlock() const {
  std::string text;
  int shown = 0;
  for (int rank = 0; rank < rank_count_ && shown < 4; ++rank) {
    if (ranks_[rank].call == static_cast<int>(order_.size())) continue;
    for (std::size_t lane = 0; lane < ranks_[rank].lanes.size() && shown < 4; ++lane) {
      if (ranks_[rank].lanes[lane].step >= ProgramOf(rank).lanes[lane].step_count) continue;
      text += (shown++ > 0 ? "; " : "") + DescribeWait(rank, static_cast<int>(lane));
    }
  }
  throw Fault{FaultKind::kDeadlock, text};
}

void SymbolicWorld::CheckNothingLeft() const {
  for (const Connection& connection : connections_) {
    if (!connection.messages.empty()) {
      throw Fault{FaultKind::kExitState, "a message is still in flight at the end"};
    }
  }
  for (const auto* queues : {&tokens_, &lane_tokens_}) {
    for (const Queue<Token>& queue : *queues) {
      if (!queue.empty()) throw Fault{FaultKind::kExitState, "a token is left over at the end"};
    }
  }
}

}  // namespace hockney
