#include "collectives/reference.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/interpreter.h"
#include "collectives/kernels/kernels.h"

namespace hockney {
namespace {

using Bytes = std::vector<std::byte>;

struct World {
  std::span<const RankProgram> programs;
  const Layout& layout;
  ReduceOp op;
  Flow flow;
  std::span<const RankBuffers> buffers;
  std::vector<Bytes> scratch;
  std::map<std::tuple<int, int, int, Buffer>, std::deque<Bytes>> messages;  // from, to, lane
  std::map<std::tuple<int, int, int>, int> tokens;                          // from, to, lane
  std::map<std::tuple<int, int, int>, int> lane_tokens;                     // rank, from, to
};

// A Machine of the interpreter: every message is a copy in a deque, every slice goes through fresh
// vectors.
class ReferenceMachine {
 public:
  ReferenceMachine(World& world, int rank) : world_(world), rank_(rank) {}

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(world_.programs.size()); }
  RankGroup group(int lane) const { return GroupOf(world_.programs[rank_], lane); }
  bool TokenReady(int lane, TokenEnd source) { return Tokens(source, lane) > 0; }
  void TakeToken(int lane, TokenEnd source) { --Tokens(source, lane); }
  void GiveToken(int lane, TokenEnd target) {
    if (target.kind == EventKind::kLane) {
      ++world_.lane_tokens[{rank_, lane, target.index}];
    } else {
      ++world_.tokens[{rank_, target.index, lane}];
    }
  }
  bool MessageReady(int lane, int peer, Buffer buffer) {
    return !world_.messages[{peer, rank_, lane, buffer}].empty();
  }
  bool CreditReady(int lane, int peer, Buffer buffer) {
    const auto held = world_.messages[{rank_, peer, lane, buffer}].size();
    return held < static_cast<std::size_t>(world_.flow.slots);
  }
  void Consumed(int lane, int peer, Buffer buffer) {
    world_.messages[{peer, rank_, lane, buffer}].pop_front();
  }
  void Sent(int, int, Buffer) {}
  void Move(int lane, const Step& step, const LoopCounters& at, int slice);

 private:
  int& Tokens(TokenEnd source, int lane) {
    if (source.kind == EventKind::kLane) return world_.lane_tokens[{rank_, source.index, lane}];
    return world_.tokens[{source.index, rank_, lane}];
  }
  std::span<std::byte> Slice(int owner, Buffer buffer, int chunk, int slice) const;
  std::vector<Bytes> Gather(int lane, const Step& step, const LoopCounters& at, int slice,
                            std::vector<std::uint8_t>& scaled);
  Bytes Combine(const Step& step, const std::vector<Bytes>& sources,
                const std::vector<std::uint8_t>& scaled) const;

  World& world_;
  int rank_;
};

// The bytes of one slice: slices are equal parts of the largest chunk, so short chunks have empty
// ones.
std::span<std::byte> ReferenceMachine::Slice(int owner, Buffer buffer, int chunk, int slice) const {
  const std::size_t largest = world_.layout.LargestChunkBytes();
  const std::size_t unit =
      (largest + world_.flow.slices - 1) / world_.flow.slices / 128 * 128 + 128;
  const ByteRange range = world_.layout.Find(owner, buffer, chunk);
  const std::size_t begin = std::min(range.bytes, unit * slice);
  const std::size_t end = std::min(range.bytes, begin + unit);
  std::span<std::byte> whole = world_.scratch[owner];
  if (buffer == Buffer::kInput) whole = world_.buffers[owner].input;
  if (buffer == Buffer::kOutput) whole = world_.buffers[owner].output;
  if (range.offset + end > whole.size())
    throw std::logic_error("reference: chunk outside its buffer");
  return whole.subspan(range.offset + begin, end - begin);
}

std::vector<Bytes> ReferenceMachine::Gather(int lane, const Step& step, const LoopCounters& at,
                                            int slice, std::vector<std::uint8_t>& scaled) {
  std::vector<Bytes> sources;
  for (int s = 0; s < step.source_count; ++s) {
    const Operand& source = step.source[s];
    const auto take = [&](int peer) {
      Bytes bytes;
      if (IsFifo(source)) {
        bytes = world_.messages[{peer, rank_, lane, source.buffer}].front();
      } else {
        for (int j = 0; j < source.run.count; ++j) {
          const auto part = Slice(peer, source.buffer, FindChunk(source.run, at, j), slice);
          bytes.insert(bytes.end(), part.begin(), part.end());
        }
      }
      sources.push_back(std::move(bytes));
      scaled.push_back(source.buffer == Buffer::kInput && ranks() > 1 ? 1 : 0);
      return true;
    };
    if (source.place == Place::kSelf) {
      take(rank_);
    } else {
      ForEachPeer(source, at, group(lane), take);
    }
  }
  return sources;
}

Bytes ReferenceMachine::Combine(const Step& step, const std::vector<Bytes>& sources,
                                const std::vector<std::uint8_t>& scaled) const {
  Bytes result(sources.at(0).size());
  std::vector<const std::byte*> pointers;
  for (const Bytes& source : sources) {
    if (source.size() != result.size()) throw std::logic_error("reference: sources of unlike size");
    pointers.push_back(source.data());
  }
  std::byte* destination = result.data();
  KernelArgs args;
  args.sources = pointers.data();
  args.scaled = scaled.data();
  args.destinations = &destination;
  args.source_count = sources.size();
  args.destination_count = 1;
  args.count = result.size() / ElementBytes(world_.layout.type());
  args.ranks = ranks();
  args.divide = step.final;
  ReferenceKernel(world_.layout.type(), world_.op, args);
  return result;
}

void ReferenceMachine::Move(int lane, const Step& step, const LoopCounters& at, int slice) {
  std::vector<std::uint8_t> scaled;
  const std::vector<Bytes> sources = Gather(lane, step, at, slice, scaled);
  const bool reduces = Reduces(world_.layout.counts().collective);
  const Bytes result = reduces ? Combine(step, sources, scaled) : sources.at(0);
  for (int d = 0; d < step.destination_count; ++d) {
    const Operand& target = step.destination[d];
    const auto put = [&](int peer) {
      if (IsFifo(target)) {
        world_.messages[{rank_, peer, lane, target.buffer}].push_back(result);
        return true;
      }
      std::size_t offset = 0;
      for (int j = 0; j < target.run.count; ++j) {
        const auto part = Slice(peer, target.buffer, FindChunk(target.run, at, j), slice);
        if (offset + part.size() > result.size()) throw std::logic_error("reference: short data");
        if (!part.empty()) std::memcpy(part.data(), result.data() + offset, part.size());
        offset += part.size();
      }
      if (offset != result.size()) throw std::logic_error("reference: long data");
      return true;
    };
    if (target.place == Place::kSelf) {
      put(rank_);
    } else {
      ForEachPeer(target, at, group(lane), put);
    }
  }
}

}  // namespace

void RunReference(std::span<const RankProgram> programs, const Layout& layout, ReduceOp op,
                  const Flow& flow, std::span<const RankBuffers> buffers) {
  World world{programs, layout, op, flow, buffers, {}, {}, {}, {}};
  std::vector<std::vector<LaneState>> states;
  for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank) {
    world.scratch.emplace_back(layout.BufferBytes(rank, Buffer::kScratch));
    states.emplace_back(programs[rank].lanes.size());
  }
  bool moved = true;
  bool done = false;
  while (moved && !done) {
    moved = false;
    done = true;
    for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank) {
      ReferenceMachine machine(world, rank);
      for (std::size_t lane = 0; lane < states[rank].size(); ++lane) {
        const Progress progress = Advance(programs[rank].lanes[lane], static_cast<int>(lane),
                                          flow.slices, states[rank][lane], machine);
        moved = moved || progress == Progress::kMoved;
        done = done && progress == Progress::kDone;
      }
    }
  }
  if (!done) throw std::logic_error("reference: the programs are stuck");
}

}  // namespace hockney
