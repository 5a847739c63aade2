#include "tuner/simulate/engine.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "collectives/interpreter.h"

namespace hockney {
namespace {

constexpr std::uint32_t kKindBits = 3;

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
      network_({}, {}) {
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

// A flow of a wire, or of a lane with kLaneFlow set.
void SimEngine::StartFlow(std::uint32_t owner, double bytes, double cap, const FlowPath& path) {
  const std::uint32_t flow = network_.Start(now_, bytes, cap, path, &dues_);
  if (owner_of_flow_.size() <= flow) owner_of_flow_.resize(flow + 1);
  owner_of_flow_[flow] = owner;
  PushDues();
}

EngineResult SimEngine::Run(std::span<const double> buckets) {
  network_ = FlowNetwork(map_.resources(), buckets);
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
  result_.end_buckets = Buckets();
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
  if ((owner & kLaneFlow) == 0) {
    wires_.messages[owner].busy = false;
    Arrive(owner, now_ + wires_.messages[owner].alpha_seconds);
    return SendNext(owner);
  }
  const std::uint32_t index = owner & ~kLaneFlow;
  LaneRun& lane = lanes_[index];
  if (--lane.pending > 0) return;
  if (lane.busy_until > now_) {
    Push(lane.busy_until, Happening::kDone, index);
  } else {
    Complete(index);
  }
}

std::vector<double> SimEngine::Buckets() const {
  std::vector<double> buckets;
  buckets.reserve(bucket_resources_.size());
  for (const std::int32_t resource : bucket_resources_)
    buckets.push_back(network_.Tokens(resource, now_));
  return buckets;
}

void SimEngine::PieceEnded(std::uint32_t index, int piece) {
  result_.piece_ends[piece][lanes_[index].piece_place] = now_;
  if (++lanes_through_[piece] < piece_lanes_) return;
  result_.bucket_bytes[piece] = Buckets();
}

void SimEngine::CountBytes(std::uint32_t lane, SimLevel level, double bytes) {
  result_.bytes[static_cast<int>(level)] += bytes;
  result_.piece_bytes[lanes_[lane].at.i[0]][static_cast<int>(level)] += bytes;
}

void SimEngine::Send(std::uint32_t number, double bytes) {
  MessageWire& wire = wires_.messages[number];
  const std::size_t slot = Slot(number, wire.sent++);
  bytes_[slot] = bytes;
  sent_by_[slot] = lanes_[wire.sender].record;
  CountBytes(wire.sender, wire.level, bytes * wire.byte_factor * wire.copies);
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
