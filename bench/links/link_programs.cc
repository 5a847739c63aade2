#include "bench/links/link_programs.h"

#include <algorithm>

#include "collectives/builder.h"

namespace hockney {
namespace {

// The role of a rank, and with whom.
struct Role {
  int peer = -1;
  bool first = false;
};

Role RoleOf(const LinkTask& task, int rank) {
  for (const auto& [a, b] : task.pairs) {
    if (a == rank) return {b, true};
    if (b == rank) return {a, false};
  }
  return {};
}

// A data lane's chunks of all messages, one after the other.
class Writer {
 public:
  Writer(Builder& b, int peer, int lane, int chunks)
      : b_(b), peer_(Rank(peer)), lane_(lane), chunks_(chunks) {}

  void Send() {
    b_.Repeat(chunks_, 1, [&] { b_.Add(Copy(Input(Along(b_.Part(lane_), 1)), {b_.To(peer_)})); });
  }
  void Receive() {
    b_.Repeat(chunks_, 1,
              [&] { b_.Add(Copy(b_.From(peer_), {Output(Along(b_.Part(lane_), 1))})); });
  }
  void Say() { b_.Add(Post(Peer(peer_))); }
  void Hear() { b_.Add(Wait(Peer(peer_))); }

 private:
  Builder& b_;
  PeerIndex peer_;
  int lane_;
  int chunks_;
};

// One data lane's share of it.
void AddPattern(Builder& b, LinkPattern pattern, const Role& role, Writer& w) {
  switch (pattern) {
    case LinkPattern::kPingPong:
      b.AddLane([&] {
        if (role.first) w.Send();
        w.Receive();
        if (!role.first) w.Send();
      });
      return;
    case LinkPattern::kDuplex:  // lanes are connections of their own and take turns
      b.AddLane([&] { role.first ? w.Send() : w.Receive(); });
      b.AddLane([&] { role.first ? w.Receive() : w.Send(); });
      return;
    case LinkPattern::kStream:
      b.AddLane([&] {
        role.first ? w.Send() : w.Receive();
        role.first ? w.Hear() : w.Say();
      });
      return;
    case LinkPattern::kPost:
      b.AddLane([&] { role.first ? w.Send() : w.Receive(); });
      return;
  }
}

}  // namespace

std::uint64_t TotalBytes(const LinkTask& task) {
  return task.bytes * static_cast<std::uint64_t>(std::max(task.messages, 1));
}

LinkProgram MakeLinkProgram(const LinkTask& task, int rank, int ranks, const FlowLimits& limits) {
  const std::uint64_t room = limits.slot_bytes * static_cast<std::uint64_t>(task.lanes);
  const std::uint64_t slots_each = std::max<std::uint64_t>(1, (task.bytes + room - 1) / room);
  const int chunks = static_cast<int>(slots_each) * std::max(task.messages, 1);
  const Shape shape{.collective = Collective::kSendRecv, .ranks = ranks, .root = 0};
  Builder b(shape, rank, Parameters{.lanes = task.lanes}, chunks);
  const Role role = RoleOf(task, rank);
  for (int lane = 0; lane < task.lanes && role.peer >= 0; ++lane) {
    Writer w(b, role.peer, lane, chunks);
    AddPattern(b, task.pattern, role, w);
  }
  LinkProgram result{.program = b.Take(), .flow = {}};
  result.flow.cut = result.program.cut;
  result.flow.flow = {.slices = 1, .slots = limits.slots};
  result.flow.slice_bytes = limits.slot_bytes;
  return result;
}

}  // namespace hockney
