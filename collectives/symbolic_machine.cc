#include <algorithm>

#include "collectives/symbolic_world.h"

namespace hockney {

void SymbolicMachine::Throw(int lane, FaultKind kind, const std::string& text) const {
  throw Fault{kind, world_.Where(rank_, lane) + ": " + text};
}

// Executors ask once for each token, message and credit of a step, so a step may not need two of
// one counter.
void SymbolicMachine::CheckWaits(int lane) const {
  const LaneState& state = world_.ranks_[rank_].lanes[lane];
  const Step& step = world_.ProgramOf(rank_).lanes[lane].steps[state.step];
  if (step.wait_count < 2) return;
  const auto [a, b] = step.wait;
  const bool lanes = a.kind == EventKind::kLane;
  if (lanes != (b.kind == EventKind::kLane)) return;
  const bool all = a.kind == EventKind::kAllPeers || b.kind == EventKind::kAllPeers;
  const bool same = lanes ? a.peer.start == b.peer.start
                          : FindPeer(a.peer, state.counters, group(lane)) ==
                                FindPeer(b.peer, state.counters, group(lane));
  if (all || same) Throw(lane, FaultKind::kMalformed, "waits for two tokens of one counter");
}

void SymbolicMachine::CheckConnections(int lane, const Step& step, const LoopCounters& at) const {
  const auto check = [&](const Operand* operands, int count) {
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < i; ++j) {
        const Operand& a = operands[i];
        const Operand& b = operands[j];
        if (!IsFifo(a) || !IsFifo(b) || a.buffer != b.buffer) continue;
        if (a.place == Place::kAllFifos || b.place == Place::kAllFifos ||
            FindPeer(a.peer, at, group(lane)) == FindPeer(b.peer, at, group(lane))) {
          Throw(lane, FaultKind::kMalformed, "needs two messages or credits of one connection");
        }
      }
    }
  };
  check(step.source, step.source_count);
  check(step.destination, step.destination_count);
}

void SymbolicMachine::TakeToken(int lane, TokenEnd source) {
  CheckWaits(lane);
  auto& queue = world_.TokensOf(rank_, lane, source);
  const SymbolicWorld::Token& token = queue.items[queue.head];
  if (token.call != world_.ranks_[rank_].call) {
    Throw(lane, FaultKind::kExitState, "takes a token that was left over from an earlier call");
  }
  world_.clocks_.Acquire(world_.ThreadOf(rank_, lane), token.clock);
  queue.Pop();
}

void SymbolicMachine::GiveToken(int lane, TokenEnd target) {
  SymbolicWorld::Token token{world_.ranks_[rank_].call,
                             world_.clocks_.Release(world_.ThreadOf(rank_, lane))};
  if (target.kind == EventKind::kLane) {
    const int lanes = static_cast<int>(world_.ProgramOf(rank_).lanes.size());
    if (target.index < 0 || target.index >= lanes) {
      Throw(lane, FaultKind::kMalformed, "posts to lane " + std::to_string(target.index));
    }
    world_.TokensOf(rank_, target.index, {EventKind::kLane, lane})
        .items.push_back(std::move(token));
    return;
  }
  world_.TokensOf(target.index, lane, {EventKind::kPeer, rank_}).items.push_back(std::move(token));
}

SymbolicMachine::Moved SymbolicMachine::Receive(int lane, int peer, Buffer buffer) {
  auto& connection = world_.ConnectionOf(peer, rank_, lane, buffer);
  SymbolicWorld::Message message = std::move(connection.messages.items[connection.messages.head]);
  connection.messages.Pop();
  if (message.call != world_.ranks_[rank_].call) {
    Throw(lane, FaultKind::kExitState,
          "takes a message that rank " + std::to_string(peer) + " sent in another call");
  }
  world_.clocks_.Acquire(world_.ThreadOf(rank_, lane), message.clock);
  return std::move(message.parts);
}

SymbolicMachine::Moved SymbolicMachine::ReadMemory(int lane, int owner, const Operand& source,
                                                   const Moment& now) {
  const int thread = world_.ThreadOf(rank_, lane);
  const Layout& layout = *world_.PlanOf(rank_).layout;
  Moved moved;
  for (int j = 0; j < source.run.count; ++j) {
    const int chunk = FindChunk(source.run, now.at, j);
    Cell& cell = world_.CellOf(rank_, owner, source.buffer, chunk, now.slice);
    world_.CheckRace(cell.Read(world_.clocks_, thread), thread, "reads", owner);
    const Symbol& symbol = cell.symbol;
    if (source.buffer == Buffer::kInput) {
      const Symbol pristine{static_cast<std::int64_t>(chunk) * world_.flow_.slices + now.slice,
                            world_.sets_.Single(owner), world_.ranks_[rank_].call, false};
      if (!(symbol == pristine)) {
        Throw(lane, FaultKind::kWrongResult,
              "reads input chunk " + std::to_string(chunk) + " of rank " + std::to_string(owner) +
                  " after it was overwritten, or before its user filled it for this call");
      }
    }
    moved.push_back({symbol, layout.Find(owner, source.buffer, chunk).bytes});
  }
  return moved;
}

void SymbolicMachine::Combine(int lane, const Step& step, Moved& sum, const Moved& next) {
  if (!step.reduce) Throw(lane, FaultKind::kMalformed, "copies from more than one source");
  for (std::size_t j = 0; j < sum.size(); ++j) {
    Symbol& a = sum[j].symbol;
    const Symbol& b = next[j].symbol;
    if (sum[j].bytes != next[j].bytes) {
      Throw(lane, FaultKind::kBytes, "combines sources of unlike size");
    }
    if (a.origin != b.origin || a.call != b.call || a.origin < 0) {
      Throw(lane, FaultKind::kWrongResult, "adds chunks of different origin");
    }
    if (a.final || b.final) Throw(lane, FaultKind::kWrongResult, "adds to a finished reduction");
    a.set = world_.sets_.Join(a.set, b.set);
    if (a.set == RankSets::kOverlap) {
      Throw(lane, FaultKind::kWrongResult, "adds a rank's contribution twice");
    }
  }
}

void SymbolicMachine::Send(int lane, int peer, Buffer buffer, const Moved& moved) {
  auto& connection = world_.ConnectionOf(rank_, peer, lane, buffer);
  const int thread = world_.ThreadOf(rank_, lane);
  if (connection.sent >= world_.flow_.slots) {
    world_.clocks_.Acquire(thread, connection.credits.items[connection.credits.head]);
    connection.credits.Pop();
  }
  ++connection.sent;
  connection.messages.items.push_back(
      {world_.ranks_[rank_].call, world_.clocks_.Release(thread), moved});
}

void SymbolicMachine::WriteMemory(int lane, int owner, const Operand& target, const Moved& moved,
                                  const Moment& now) {
  const int thread = world_.ThreadOf(rank_, lane);
  const Layout& layout = *world_.PlanOf(rank_).layout;
  for (int j = 0; j < target.run.count; ++j) {
    const int chunk = FindChunk(target.run, now.at, j);
    Cell& cell = world_.CellOf(rank_, owner, target.buffer, chunk, now.slice);
    world_.CheckRace(cell.Write(world_.clocks_, thread), thread, "writes", owner);
    cell.symbol = moved[j].symbol;
    if (layout.Find(owner, target.buffer, chunk).bytes != moved[j].bytes) {
      Throw(lane, FaultKind::kBytes,
            "writes " + std::to_string(moved[j].bytes) + " bytes to a chunk of " +
                std::to_string(layout.Find(owner, target.buffer, chunk).bytes));
    }
  }
}

void SymbolicMachine::CheckStep(int lane, const Step& step) const {
  const bool reducing = Reduces(world_.ProgramOf(rank_).shape.collective);
  if ((step.reduce || step.final) && !reducing) {
    Throw(lane, FaultKind::kMalformed, "reduces in a collective that moves data only");
  }
  if (step.final && !step.reduce) Throw(lane, FaultKind::kMalformed, "a copy cannot be final");
  const int count = step.source[0].run.count;
  const auto check = [&](const Operand& operand) {
    if (operand.run.count != count)
      Throw(lane, FaultKind::kBytes, "operands of unlike chunk counts");
  };
  std::for_each(step.source, step.source + step.source_count, check);
  std::for_each(step.destination, step.destination + step.destination_count, check);
  for (int d = 0; d < step.destination_count; ++d) {
    if (step.destination[d].buffer == Buffer::kInput) {
      Throw(lane, FaultKind::kMalformed, "writes to an input");
    }
  }
  // The bytes of a message's chunks are known from memory that goes with it; of one chunk alone,
  // from the message.
  if (count > 1 && std::all_of(step.source, step.source + step.source_count, IsFifo) &&
      std::all_of(step.destination, step.destination + step.destination_count, IsFifo)) {
    Throw(lane, FaultKind::kMalformed, "passes on several chunks of unknown length");
  }
}

// Executors work a run off chunk by chunk, so a chunk may not be read after another chunk's result
// went there.
void SymbolicMachine::CheckOverlap(int lane, const Step& step, const LoopCounters& at) const {
  if (step.source[0].run.count < 2) return;
  const auto find = [&](const Operand& operand, int j) {
    return &world_.CellOf(rank_, rank_, operand.buffer, FindChunk(operand.run, at, j), 0);
  };
  for (int s = 0; s < step.source_count; ++s) {
    const Operand& from = step.source[s];
    if (from.place != Place::kSelf) continue;
    for (int d = 0; d < step.destination_count; ++d) {
      const Operand& to = step.destination[d];
      if (to.place != Place::kSelf) continue;
      if (to.buffer != from.buffer && !world_.PlanOf(rank_).in_place) continue;
      std::vector<std::pair<const Cell*, int>> written;
      written.reserve(to.run.count);
      for (int k = 0; k < to.run.count; ++k) written.emplace_back(find(to, k), k);
      std::sort(written.begin(), written.end());
      for (int j = 0; j < from.run.count; ++j) {
        const std::pair<const Cell*, int> same = {find(from, j), j};
        const auto place = std::lower_bound(written.begin(), written.end(),
                                            std::pair<const Cell*, int>{same.first, 0});
        if (place != written.end() && place->first == same.first && *place != same) {
          Throw(lane, FaultKind::kMalformed, "overwrites a chunk that the same run still reads");
        }
      }
    }
  }
}

void SymbolicMachine::CountTransfer(const Transfer& transfer, int slice) {
  if (world_.ranks_[rank_].call != 0 || slice != 0 || transfer.peer == rank_) return;
  world_.verdict_.wire_bytes[rank_] += transfer.bytes;
  world_.verdict_.transfers.push_back(transfer);
}

std::uint64_t SymbolicMachine::CountBytes(const Moved& moved) {
  std::uint64_t bytes = 0;
  for (const auto& part : moved) bytes += part.bytes;
  return bytes;
}

SymbolicMachine::Moved SymbolicMachine::ReadSources(int lane, const Step& step, const Moment& now) {
  Moved sum;
  bool first = true;
  for (int s = 0; s < step.source_count; ++s) {
    const Operand& source = step.source[s];
    const auto take = [&](int peer) {
      Moved next =
          IsFifo(source) ? Receive(lane, peer, source.buffer) : ReadMemory(lane, peer, source, now);
      if (next.size() != static_cast<std::size_t>(source.run.count)) {
        Throw(lane, FaultKind::kBytes, "receives a message of another number of chunks");
      }
      if (!IsFifo(source)) {
        CountTransfer({rank_, lane, peer, source.run.count, false, false, CountBytes(next)},
                      now.slice);
      }
      if (first) {
        sum = std::move(next);
      } else {
        Combine(lane, step, sum, next);
      }
      first = false;
      return true;
    };
    if (source.place == Place::kSelf) {
      take(rank_);
    } else {
      ForEachPeer(source, now.at, group(lane), take);
    }
  }
  return sum;
}

void SymbolicMachine::Move(int lane, const Step& step, const LoopCounters& at, int slice) {
  CheckStep(lane, step);
  CheckConnections(lane, step, at);
  CheckOverlap(lane, step, at);
  Moved sum = ReadSources(lane, step, {at, slice});
  if (step.final) {
    for (auto& part : sum) {
      if (part.symbol.final) {
        Throw(lane, FaultKind::kWrongResult, "finishes a finished reduction again");
      }
      part.symbol.final = true;
    }
  }
  for (int d = 0; d < step.destination_count; ++d) {
    const Operand& target = step.destination[d];
    const auto put = [&](int peer) {
      CountTransfer({rank_, lane, peer, target.run.count, IsFifo(target), true, CountBytes(sum)},
                    slice);
      if (IsFifo(target)) {
        Send(lane, peer, target.buffer, sum);
      } else {
        WriteMemory(lane, peer, target, sum, {at, slice});
      }
      return true;
    };
    if (target.place == Place::kSelf) {
      put(rank_);
    } else {
      ForEachPeer(target, at, group(lane), put);
    }
  }
  // The slots are free once the step has read them.
  for (int s = 0; s < step.source_count; ++s) {
    const Operand& source = step.source[s];
    if (!IsFifo(source)) continue;
    ForEachPeer(source, at, group(lane), [&](int peer) {
      world_.ConnectionOf(peer, rank_, lane, source.buffer)
          .credits.items.push_back(world_.clocks_.Release(world_.ThreadOf(rank_, lane)));
      return true;
    });
  }
}

}  // namespace hockney
