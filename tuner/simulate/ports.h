#pragma once

#include <cstdint>
#include <vector>

#include "collectives/interpreter.h"
#include "collectives/program.h"

namespace hockney {

// One end of what a lane and a lane of another rank exchange.
enum class PortKind : std::uint8_t {
  kSlotsIn,
  kSlotsOut,
  kPacketsIn,
  kPacketsOut,
  kTokenIn,
  kTokenOut
};
PortKind OtherEnd(PortKind kind);

struct Port {
  PortKind kind = PortKind::kSlotsIn;
  std::int32_t peer = 0;  // rank
  bool operator==(const Port&) const = default;
};

// The ports of one lane in the order of their first use, which is the same for all ranks that do
// the same with other peers.
class LanePorts {
 public:
  LanePorts(const RankProgram& program, int lane);

  const std::vector<Port>& ports() const { return ports_; }
  // The index of a port, -1 if there is none.
  int Find(Port port) const;
  // The ranks whose buffers the lane reads or writes in place, in order of first use.
  const std::vector<std::int32_t>& memory_peers() const { return memory_peers_; }

 private:
  std::vector<Port> ports_;
  std::vector<std::int32_t> memory_peers_;
  std::vector<std::int32_t> sorted_;  // indices by port, where there are many
};

// Calls visit(rank) for every peer that `peer` is on the way through the loops around a step, in
// their order, each at least once.
template <class Visit>
void ForEachPeerOfLoops(const Lane& lane, int step, const PeerIndex& peer, const RankGroup& group,
                        Visit visit) {
  int counts[kLoopDepth] = {1, 1, 1};
  for (int l = 0; l < lane.loop_count; ++l) {
    const Loop& loop = lane.loops[l];
    if (loop.begin <= step && step < loop.end) counts[loop.depth] = loop.count;
  }
  // Peers repeat with the group's size, so longer loops show nothing new.
  const int inner = peer.inner == 0 ? 1 : (counts[1] < group.size ? counts[1] : group.size);
  const int inner2 = peer.inner2 == 0 ? 1 : (counts[2] < group.size ? counts[2] : group.size);
  LoopCounters at;
  for (at.i[1] = 0; at.i[1] < inner; ++at.i[1]) {
    for (at.i[2] = 0; at.i[2] < inner2; ++at.i[2]) visit(FindPeer(peer, at, group));
  }
}

}  // namespace hockney
