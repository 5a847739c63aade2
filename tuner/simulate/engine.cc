#include "tuner/simulate/engine.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "collectives/interpreter.h"

namespace hockney {
namespace {

constexpr std::uint32_t kKindBits = 3;
constexpr std::uint32_t kVersionMask = 0xffffffffu >> kKindBits;
constexpr std::uint32_t kLaneOwner = 0x80000000;

bool IsAll(const Operand& operand) {
  return operand.place == Place::kAllPeers || operand.place == Place::kAllFifos;
}

}  // namespace

SimEngine::SimEngine(const SimMachine& machine, const ResourceMap& map,
                     const std::vector<RankCode>& codes, const RankClasses& classes,
                     const SimCall& call)
    : machine_(machine),
      map_(map),
      call_(call),
      wires_(ConnectLanes(codes, classes, map, call.protocol)),
      slots_(static_cast<std::uint32_t>(call.flow.slots)),
      ranks_(static_cast<int>(machine.placement.node_of_rank.size())),
      network_(map.resources(), false) {
  lanes_.reserve(wires_.lanes.size());
  for (const LaneEnds& ends : wires_.lanes) {
    const RankCode& rank = codes[classes.representative[ends.rank_class]];
    LaneRun& lane = lanes_.emplace_back();
    lane.code = &rank.lanes[ends.lane];
    lane.rank = &rank;
    lane.ports = &rank.ports[ends.lane];
    lane.group = rank.GroupOfLane(ends.lane, ranks_);
  }
  const std::size_t slots = wires_.messages.size() * slots_;
  arrival_.resize(slots);
  bytes_.resize(slots);
  credit_.resize(slots);
  sent_by_.resize(slots, kNoRecord);
  read_by_.resize(slots, kNoRecord);
  for (std::size_t i = 0; i < map.resources().size(); ++i) {
    if (map.resources()[i].burst_bytes > 0) {
      bucket_resources_.push_back(static_cast<std::int32_t>(i));
    }
  }
  for (LaneRun& lane : lanes_) {
    const auto& loops = lane.code->loops;
    if (std::any_of(loops.begin(), loops.end(), [](const Loop& l) { return l.depth == 0; })) {
      lane.piece_place = static_cast<std::int32_t>(piece_lanes_++);
    }
  }
  lanes_through_.resize(call.pieces);
  result_.piece_bytes.resize(call.pieces);
  result_.bucket_bytes.resize(call.pieces);
  result_.piece_ends.assign(call.pieces, std::vector<double>(piece_lanes_));
}

void SimEngine::Push(double seconds, Happening kind, std::uint32_t target, std::uint32_t version) {
  queue_.Push(seconds, static_cast<std::uint32_t>(kind) | (version << kKindBits), target);
}

void SimEngine::PushDues() {
  for (const FlowNetwork::Due& due : dues_) {
    Push(due.seconds, due.is_drain ? Happening::kDrain : Happening::kFlow, due.target, due.version);
  }
  dues_.clear();
}

// A flow of a wire, or of a lane with kLaneOwner set.
void SimEngine::StartFlow(std::uint32_t owner, double bytes, double cap, const FlowPath& path) {
  const std::uint32_t flow = network_.Start(now_, bytes, cap, path, &dues_);
  if (owner_of_flow_.size() <= flow) owner_of_flow_.resize(flow + 1);
  owner_of_flow_[flow] = owner;
  PushDues();
}

EngineResult SimEngine::Run(bool buckets_full) {
  network_ = FlowNetwork(map_.resources(), buckets_full);
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lanes_[lane].code->step_count == 0) {
      lanes_[lane].done = true;
    } else {
      Evaluate(lane);
    }
  }
  for (;;) {
    // All that starts and ends at one time is settled together.
    if (network_.needs_settling() && (queue_.empty() || queue_.top().seconds > now_)) {
      network_.Settle(now_, &dues_);
      PushDues();
      continue;
    }
    if (queue_.empty()) break;
    const SimEvent event = queue_.Pop();
    now_ = event.seconds;
    ++result_.events;
    Handle(event);
  }
  for (const LaneRun& lane : lanes_) {
    if (!lane.done) throw std::logic_error("simulation: lanes wait for each other for ever");
    result_.seconds = std::max(result_.seconds, lane.free_seconds);
  }
  result_.solves = network_.solves();
  return std::move(result_);
}

void SimEngine::Handle(const SimEvent& event) {
  const std::uint32_t version = event.what >> kKindBits;
  switch (static_cast<Happening>(event.what & ((1u << kKindBits) - 1))) {
    case Happening::kStart:
      return Start(event.target);
    case Happening::kDone:
      return Complete(event.target);
    case Happening::kWire: {
      wires_.messages[event.target].busy = false;
      Arrive(event.target, now_ + wires_.messages[event.target].alpha_seconds);
      return SendNext(event.target);
    }
    case Happening::kDrain:
      return network_.Drain(now_, event.target, version);
    case Happening::kFlow:
      break;
  }
  const bool ended = network_.End(now_, event.target, version, &dues_);
  PushDues();
  if (!ended) return;
  const std::uint32_t owner = owner_of_flow_[event.target];
  if ((owner & kLaneOwner) == 0) {
    wires_.messages[owner].busy = false;
    Arrive(owner, now_ + wires_.messages[owner].alpha_seconds);
    return SendNext(owner);
  }
  const std::uint32_t index = owner & ~kLaneOwner;
  LaneRun& lane = lanes_[index];
  if (--lane.pending > 0) return;
  if (lane.busy_until > now_) {
    Push(lane.busy_until, Happening::kDone, index);
  } else {
    Complete(index);
  }
}

// The last piece that is simulated stands for the last of all.
LoopCounters SimEngine::Counters(const LaneRun& lane) const {
  LoopCounters at = lane.at;
  if (at.i[0] == call_.pieces - 1) at.i[0] = call_.all_pieces - 1;
  return at;
}

// Calls visit(wire) for the connections of one side of the lane's step until one returns false.
template <class Visit>
bool SimEngine::ForEachWire(std::uint32_t index, bool source, Visit visit) {
  const LaneRun& lane = lanes_[index];
  const LaneEnds& ends = wires_.lanes[index];
  const Step& step = lane.code->steps[lane.step];
  const LaneCode::StepPorts& fixed = lane.code->ports[lane.step];
  const int count = source ? step.source_count : step.destination_count;
  for (int i = 0; i < count; ++i) {
    const Operand& operand = source ? step.source[i] : step.destination[i];
    if (!IsFifo(operand)) continue;
    const int known = source ? fixed.source[i] : fixed.destination[i];
    if (known >= 0) {
      if (!visit(ends.wire[known])) return false;
      continue;
    }
    const bool packets = operand.buffer == Buffer::kPackets;
    const PortKind in = packets ? PortKind::kPacketsIn : PortKind::kSlotsIn;
    const PortKind kind = source ? in : OtherEnd(in);
    if (!ForEachPeer(operand, lane.at, lane.group, [&](int peer) {
          return visit(ends.wire[lane.ports->Find({kind, peer})]);
        })) {
      return false;
    }
  }
  return true;
}

template <class Visit>
bool SimEngine::ForEachTokenWire(std::uint32_t index, const Event& event, bool in, Visit visit) {
  const LaneRun& lane = lanes_[index];
  const LaneEnds& ends = wires_.lanes[index];
  const PortKind kind = in ? PortKind::kTokenIn : PortKind::kTokenOut;
  const auto find = [&](int peer) { return ends.wire[lane.ports->Find({kind, peer})]; };
  switch (event.kind) {
    case EventKind::kLane: {
      const auto other = static_cast<std::uint32_t>(event.peer.start);
      const std::uint32_t first = index - static_cast<std::uint32_t>(ends.lane);
      return visit(in ? wires_.lanes[first + other].lane_token[ends.lane] : ends.lane_token[other]);
    }
    case EventKind::kPeer:
      return visit(find(FindPeer(event.peer, lane.at, lane.group)));
    case EventKind::kAllPeers:
      for (int i = 0; i < lane.group.size; ++i) {
        const int peer = lane.group[i];
        if (peer != lane.rank->rank && !visit(find(peer))) return false;
      }
  }
  return true;
}

bool SimEngine::FindTokens(std::uint32_t index, Found& found) {
  LaneRun& lane = lanes_[index];
  const Step& step = lane.code->steps[lane.step];
  for (int i = 0; i < step.wait_count; ++i) {
    if (!ForEachTokenWire(index, step.wait[i], true, [&](std::uint32_t number) {
          TokenWire& wire = wires_.tokens[number];
          if (wire.taken == wire.tokens.size()) {
            wire.receiver_waits = true;
            return false;
          }
          const TokenWire::Token& token = wire.tokens[wire.taken];
          found.Later(token.seconds, SimCause::kToken, token.record);
          return true;
        })) {
      return false;
    }
  }
  for (int i = 0; i < step.wait_count; ++i) {
    ForEachTokenWire(index, step.wait[i], true, [&](std::uint32_t number) {
      TokenWire& wire = wires_.tokens[number];
      if (++wire.taken == wire.tokens.size()) {
        wire.tokens.clear();
        wire.taken = 0;
      }
      return true;
    });
  }
  return true;
}

bool SimEngine::FindFifos(std::uint32_t index, Found& found) {
  return ForEachWire(index, true,
                     [&](std::uint32_t number) {
                       MessageWire& wire = wires_.messages[number];
                       if (wire.arrived == wire.consumed) {
                         wire.receiver_waits = true;
                         return false;
                       }
                       const std::size_t slot = Slot(number, wire.consumed);
                       found.Later(arrival_[slot], SimCause::kMessage, sent_by_[slot]);
                       return true;
                     }) &&
         ForEachWire(index, false, [&](std::uint32_t number) {
           MessageWire& wire = wires_.messages[number];
           if (wire.sent - wire.consumed == slots_) {
             wire.sender_waits = true;
             return false;
           }
           const std::size_t slot = Slot(number, wire.sent);
           if (wire.sent >= slots_) found.Later(credit_[slot], SimCause::kCredit, read_by_[slot]);
           return true;
         });
}

// Starts the lane's next slice when all that it waits for is known; else the one thing that is
// missing will call again.
void SimEngine::Evaluate(std::uint32_t index) {
  LaneRun& lane = lanes_[index];
  Found found{lane.free_seconds, lane.record == kNoRecord ? SimCause::kStart : SimCause::kOwnLane,
              lane.record};
  if (!lane.waited) {
    if (!FindTokens(index, found)) return;
    lane.waited = true;
    lane.free_seconds = found.seconds;
  }
  if (!FindFifos(index, found)) return;
  if (records_ != nullptr) {
    lane.record = static_cast<std::uint32_t>(records_->size());
    records_->push_back(
        {index, lane.step, lane.slice, found.seconds, found.seconds, found.cause, found.record});
  }
  Push(found.seconds, Happening::kStart, index);
}

std::size_t SimEngine::OwnBytes(const LaneRun& lane, const Operand& operand) const {
  const auto of_slice = [&](std::size_t chunk) {
    const std::size_t begin = static_cast<std::size_t>(lane.slice) * call_.slice_bytes;
    return std::min(chunk - std::min(chunk, begin), call_.slice_bytes);
  };
  if (call_.even_chunk_bytes > 0) return operand.run.count * of_slice(call_.even_chunk_bytes);
  const LoopCounters at = Counters(lane);
  std::size_t bytes = 0;
  for (int j = 0; j < operand.run.count; ++j) {
    // Chunks that are read and written together are of one size, whoever owns them.
    const int chunk = FindChunk(operand.run, at, j);
    bytes += of_slice(call_.layout->Find(lane.rank->rank, operand.buffer, chunk).bytes);
  }
  return bytes;
}

int SimEngine::SourcesOf(const LaneRun& lane, const Step& step) const {
  int sources = 0;
  for (int i = 0; i < step.source_count; ++i)
    sources += IsAll(step.source[i]) ? lane.group.size : 1;
  return sources;
}

double SimEngine::WorkSeconds(const LaneRun& lane, const Step& step, std::size_t bytes) const {
  int written = 0;
  for (int i = 0; i < step.destination_count; ++i) written += !IsFifo(step.destination[i]);
  const int added = step.reduce ? SourcesOf(lane, step) - 1 : 0;
  return static_cast<double>(bytes) *
         (written * machine_.copy_seconds_per_byte + added * machine_.reduce_seconds_per_byte);
}

void SimEngine::Start(std::uint32_t index) {
  LaneRun& lane = lanes_[index];
  const Step& step = lane.code->steps[lane.step];
  if (step.source_count == 0 && step.destination_count == 0) return Complete(index);
  ++result_.slices;
  const Operand* own = nullptr;
  for (int i = 0; i < step.source_count && own == nullptr; ++i) {
    if (!IsFifo(step.source[i])) own = &step.source[i];
  }
  for (int i = 0; i < step.destination_count && own == nullptr; ++i) {
    if (!IsFifo(step.destination[i])) own = &step.destination[i];
  }
  if (own != nullptr) {
    lane.bytes = OwnBytes(lane, *own);
  } else {
    ForEachWire(index, true, [&](std::uint32_t number) {
      lane.bytes = static_cast<std::size_t>(bytes_[Slot(number, wires_.messages[number].consumed)]);
      return false;
    });
  }
  lane.pending = 0;
  double busy = StartSends(index) + StartWork(index, step);
  for (int i = 0; i < step.source_count; ++i) busy += TouchPeers(index, step.source[i], true);
  for (int i = 0; i < step.destination_count; ++i) {
    busy += TouchPeers(index, step.destination[i], false);
  }
  lane.busy_until = now_ + busy;
  if (lane.pending > 0) return;
  if (busy > 0) {
    Push(lane.busy_until, Happening::kDone, index);
  } else {
    Complete(index);
  }
}

// What the lane itself does for its messages: the overhead of each, and the bytes where no card
// moves them. Flows that it waits for are started; returned is the time without them.
double SimEngine::StartSends(std::uint32_t index) {
  double busy = 0;
  ForEachWire(index, false, [&](std::uint32_t number) {
    const MessageWire& wire = wires_.messages[number];
    busy += wire.overhead_seconds;
    const double bytes = static_cast<double>(lanes_[index].bytes) * wire.byte_factor;
    if (!wire.by_lane || bytes == 0) return true;
    if (wire.path.size == 0) {
      busy += bytes / wire.bytes_per_second;
    } else {
      ++lanes_[index].pending;
      StartFlow(index | kLaneOwner, bytes, wire.bytes_per_second, wire.path);
    }
    return true;
  });
  return busy;
}

double SimEngine::StartWork(std::uint32_t index, const Step& step) {
  LaneRun& lane = lanes_[index];
  const double work = WorkSeconds(lane, step, lane.bytes);
  const FlowPath memory = map_.MemoryOf(lane.rank->rank);
  if (work == 0 || memory.size == 0) return work;
  int written = 0;
  for (int i = 0; i < step.destination_count; ++i) written += !IsFifo(step.destination[i]);
  const double moved = static_cast<double>(lane.bytes) * (SourcesOf(lane, step) + written);
  ++lane.pending;
  StartFlow(index | kLaneOwner, moved, moved / work, memory);
  return 0;
}

// Bytes that the lane reads from, or writes to, peers' buffers in place.
double SimEngine::TouchPeers(std::uint32_t index, const Operand& operand, bool source) {
  if (IsFifo(operand) || operand.place == Place::kSelf || lanes_[index].bytes == 0) return 0;
  const int self = lanes_[index].rank->rank;
  const auto bytes = static_cast<double>(lanes_[index].bytes);
  double busy = 0;
  ForEachPeer(operand, lanes_[index].at, lanes_[index].group, [&](int peer) {
    if (peer == self) return true;
    const SimLevel level = map_.LevelBetween(self, peer);
    const double cap = map_.CostOf(level).bytes_per_second;
    const FlowPath path = source ? map_.PathBetween(peer, self) : map_.PathBetween(self, peer);
    result_.bytes[static_cast<int>(level)] += bytes * wires_.lanes[index].copies;
    if (path.size == 0) {
      busy += bytes / cap;
    } else {
      ++lanes_[index].pending;
      StartFlow(index | kLaneOwner, bytes, cap, path);
    }
    return true;
  });
  return busy;
}

void SimEngine::Complete(std::uint32_t index) {
  LaneRun& lane = lanes_[index];
  lane.free_seconds = now_;
  const Step& step = lane.code->steps[lane.step];
  if (records_ != nullptr) (*records_)[lane.record].end_seconds = now_;
  const auto bytes = static_cast<double>(lane.bytes);
  ForEachWire(index, false, [&](std::uint32_t number) {
    Send(number, bytes);
    return true;
  });
  ForEachWire(index, true, [&](std::uint32_t number) {
    MessageWire& wire = wires_.messages[number];
    const std::size_t slot = Slot(number, wire.consumed++);
    credit_[slot] = now_ + wire.alpha_seconds;
    read_by_[slot] = lane.record;
    if (std::exchange(wire.sender_waits, false)) Evaluate(wire.sender);
    return true;
  });
  const bool moves = step.source_count > 0 || step.destination_count > 0;
  if (!moves || ++lane.slice >= call_.flow.slices) {
    Post(index, step);
    NextStep(index);
  }
  if (!lane.done) Evaluate(index);
}

void SimEngine::Post(std::uint32_t index, const Step& step) {
  const std::uint32_t record = lanes_[index].record;
  for (int i = 0; i < step.post_count; ++i) {
    ForEachTokenWire(index, step.post[i], false, [&](std::uint32_t number) {
      TokenWire& wire = wires_.tokens[number];
      wire.tokens.push_back({now_ + wire.alpha_seconds, record});
      // The lane itself goes on by itself.
      if (std::exchange(wire.receiver_waits, false)) Evaluate(wire.receiver);
      return true;
    });
  }
}

void SimEngine::NextStep(std::uint32_t index) {
  LaneRun& lane = lanes_[index];
  const int next = lane.step + 1;
  lane.waited = false;
  lane.slice = 0;
  for (const Loop& loop : lane.code->loops) {
    if (loop.end != next) continue;
    if (loop.depth == 0) PieceEnded(index, lane.at.i[0]);
    const int count = loop.depth == 0 ? call_.pieces : loop.count;
    if (++lane.at.i[loop.depth] < count) {
      lane.step = loop.begin;
      return;
    }
    lane.at.i[loop.depth] = 0;
  }
  lane.step = static_cast<std::int16_t>(next);
  lane.done = next >= lane.code->step_count;
}

void SimEngine::PieceEnded(std::uint32_t index, int piece) {
  result_.piece_ends[piece][lanes_[index].piece_place] = now_;
  if (++lanes_through_[piece] < piece_lanes_) return;
  result_.piece_bytes[piece] = result_.bytes;
  for (const std::int32_t resource : bucket_resources_) {
    result_.bucket_bytes[piece].push_back(network_.Tokens(resource, now_));
  }
}

void SimEngine::Send(std::uint32_t number, double bytes) {
  MessageWire& wire = wires_.messages[number];
  const std::size_t slot = Slot(number, wire.sent++);
  bytes_[slot] = bytes;
  sent_by_[slot] = lanes_[wire.sender].record;
  result_.bytes[static_cast<int>(wire.level)] += bytes * wire.byte_factor * wire.copies;
  result_.messages[static_cast<int>(wire.level)] += wire.copies;
  if (wire.by_lane) {
    Arrive(number, now_ + wire.alpha_seconds);
  } else if (!wire.busy) {
    SendNext(number);
  }
}

// Messages of one connection leave one after the other.
void SimEngine::SendNext(std::uint32_t number) {
  MessageWire& wire = wires_.messages[number];
  while (wire.arrived < wire.sent) {
    const double bytes = bytes_[Slot(number, wire.arrived)] * wire.byte_factor;
    const bool at_once = bytes == 0 || (wire.path.size == 0 && wire.bytes_per_second == kUnlimited);
    if (!at_once) {
      wire.busy = true;
      if (wire.path.size == 0) {
        Push(now_ + bytes / wire.bytes_per_second, Happening::kWire, number);
      } else {
        StartFlow(number, bytes, wire.bytes_per_second, wire.path);
      }
      return;
    }
    Arrive(number, now_ + wire.alpha_seconds);
  }
}

void SimEngine::Arrive(std::uint32_t number, double seconds) {
  MessageWire& wire = wires_.messages[number];
  arrival_[Slot(number, wire.arrived++)] = seconds;
  if (std::exchange(wire.receiver_waits, false)) Evaluate(wire.receiver);
}

}  // namespace hockney
