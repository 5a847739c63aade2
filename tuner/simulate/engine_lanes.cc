#include <algorithm>
#include <utility>

#include "tuner/simulate/engine_visit.h"

// What lanes do: wait, work off a slice, go on.
namespace hockney {
namespace {

bool IsAll(const Operand& operand) {
  return operand.place == Place::kAllPeers || operand.place == Place::kAllFifos;
}

}  // namespace

// The last piece that is simulated stands for the last of all.
LoopCounters SimEngine::Counters(const LaneRun& lane) const {
  LoopCounters at = lane.at;
  if (at.i[0] == call_.pieces - 1) at.i[0] = call_.all_pieces - 1;
  return at;
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
      StartFlow(index | kLaneFlow, bytes, wire.bytes_per_second, wire.path);
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
  StartFlow(index | kLaneFlow, moved, moved / work, memory);
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
    CountBytes(index, level, bytes * wires_.lanes[index].copies);
    if (path.size == 0) {
      busy += bytes / cap;
    } else {
      ++lanes_[index].pending;
      StartFlow(index | kLaneFlow, bytes, cap, path);
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

}  // namespace hockney
