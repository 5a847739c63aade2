#include "tuner/simulate/ports.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_set>

namespace hockney {
namespace {

constexpr std::size_t kFewPorts = 12;  // are found by looking at each

auto Key(const Port& port) { return std::tuple(port.kind, port.peer); }

class Walk {
 public:
  Walk(const RankProgram& program, int lane)
      : program_(program), lane_(program.lanes[lane]), group_(GroupOf(program, lane)) {}

  template <class AddPort, class AddMemory>
  void Go(AddPort add_port, AddMemory add_memory) {
    for (int s = 0; s < lane_.step_count; ++s) {
      const Step& step = lane_.steps[s];
      for (int i = 0; i < step.wait_count; ++i)
        Events(s, step.wait[i], PortKind::kTokenIn, add_port);
      for (int i = 0; i < step.source_count; ++i) {
        Operands(s, step.source[i], true, add_port, add_memory);
      }
      for (int i = 0; i < step.destination_count; ++i) {
        Operands(s, step.destination[i], false, add_port, add_memory);
      }
      for (int i = 0; i < step.post_count; ++i) {
        Events(s, step.post[i], PortKind::kTokenOut, add_port);
      }
    }
  }

 private:
  template <class AddPort>
  void Events(int s, const Event& event, PortKind kind, AddPort add_port) {
    if (event.kind == EventKind::kPeer) {
      ForEachPeerOfLoops(lane_, s, event.peer, group_, [&](int peer) {
        add_port(Port{kind, peer});
      });
    } else if (event.kind == EventKind::kAllPeers) {
      ForEachOther([&](int peer) { add_port(Port{kind, peer}); });
    }
  }

  template <class AddPort, class AddMemory>
  void Operands(int s, const Operand& operand, bool source, AddPort add_port,
                AddMemory add_memory) {
    if (operand.place == Place::kSelf) return;
    const bool fifo = IsFifo(operand);
    const bool packets = operand.buffer == Buffer::kPackets;
    const PortKind in = packets ? PortKind::kPacketsIn : PortKind::kSlotsIn;
    const PortKind out = packets ? PortKind::kPacketsOut : PortKind::kSlotsOut;
    const auto visit = [&](int peer) {
      if (fifo) {
        add_port(Port{source ? in : out, peer});
      } else {
        add_memory(peer);
      }
    };
    if (operand.place == Place::kAllPeers || operand.place == Place::kAllFifos) {
      visit(program_.rank);
      ForEachOther(visit);
    } else {
      ForEachPeerOfLoops(lane_, s, operand.peer, group_, visit);
    }
  }

  // The others of the group, from this rank's successor on: so ranks that do the same count alike.
  template <class Visit>
  void ForEachOther(Visit visit) const {
    int own = 0;
    while (own < group_.size && group_[own] != program_.rank) ++own;
    for (int i = 1; i <= group_.size; ++i) {
      const int peer = group_[(own + i) % group_.size];
      if (peer != program_.rank) visit(peer);
    }
  }

  const RankProgram& program_;
  const Lane& lane_;
  RankGroup group_;
};

}  // namespace

PortKind OtherEnd(PortKind kind) {
  switch (kind) {
    case PortKind::kSlotsIn:
      return PortKind::kSlotsOut;
    case PortKind::kSlotsOut:
      return PortKind::kSlotsIn;
    case PortKind::kPacketsIn:
      return PortKind::kPacketsOut;
    case PortKind::kPacketsOut:
      return PortKind::kPacketsIn;
    case PortKind::kTokenIn:
      return PortKind::kTokenOut;
    case PortKind::kTokenOut:
      return PortKind::kTokenIn;
  }
  return kind;
}

LanePorts::LanePorts(const RankProgram& program, int lane) {
  std::unordered_set<std::int64_t> seen;
  const auto is_new = [&](const Port& port) {
    if (ports_.size() <= kFewPorts) {
      return std::find(ports_.begin(), ports_.end(), port) == ports_.end();
    }
    const auto key = [](const Port& p) {
      return std::int64_t{p.peer} * 8 + static_cast<int>(p.kind);
    };
    if (seen.empty()) {
      for (const Port& known : ports_) seen.insert(key(known));
    }
    return seen.insert(key(port)).second;
  };
  Walk(program, lane)
      .Go(
          [&](const Port& port) {
            if (is_new(port)) ports_.push_back(port);
          },
          [&](int peer) { memory_peers_.push_back(peer); });
  if (ports_.size() <= kFewPorts) return;
  sorted_.resize(ports_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::sort(sorted_.begin(), sorted_.end(),
            [&](int a, int b) { return Key(ports_[a]) < Key(ports_[b]); });
}

int LanePorts::Find(Port port) const {
  if (sorted_.empty()) {
    const auto found = std::find(ports_.begin(), ports_.end(), port);
    return found == ports_.end() ? -1 : static_cast<int>(found - ports_.begin());
  }
  const auto found =
      std::lower_bound(sorted_.begin(), sorted_.end(), port,
                       [&](int index, const Port& key) { return Key(ports_[index]) < Key(key); });
  return found == sorted_.end() || ports_[*found] != port ? -1 : *found;
}

}  // namespace hockney
