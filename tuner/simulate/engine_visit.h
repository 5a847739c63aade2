#pragma once

#include "collectives/interpreter.h"
#include "tuner/simulate/engine.h"

// Parts of SimEngine that both of its files use.
namespace hockney {

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

}  // namespace hockney
