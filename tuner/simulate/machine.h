#pragma once

#include <string>
#include <vector>

#include "collectives/placement.h"
#include "tuner/simulate/flow_network.h"

namespace hockney {

// What a message costs between two ranks of one level, besides the resources it shares with others.
struct LevelCost {
  std::string name = {};
  double alpha_seconds = 0;  // from the last byte's leaving to its being seen
  double overhead_seconds =
      0;  // of the sender for one message, during which its lane does nothing else
  double ll_alpha_seconds = 0;              // alpha with packets (protocol ll)
  double bytes_per_second = kUnlimited;     // of one connection alone
  double ll_bytes_per_second = kUnlimited;  // the same with packets, of payload and flags together
  // Whether the lane moves the bytes itself (shared memory, NVLink) and goes on only when they are
  // there; else a network card does, and the lane goes on at once.
  bool by_lane = false;
};

// The machine that a simulation runs on. Rates in bytes per second, unlimited where they do not
// matter.
struct SimMachine {
  RankPlacement placement = {};
  LevelCost node = {};    // between ranks of one node
  LevelCost rack = {};    // between nodes of one rack, or all nodes where racks are unknown
  LevelCost fabric = {};  // between racks
  Resource node_transmit = {};
  Resource node_receive = {};
  double node_duplex_bytes_per_second = kUnlimited;  // both directions together
  double node_memory_bytes_per_second = kUnlimited;  // read and written, all ranks of a node
  Resource rack_up = {};
  Resource rack_down = {};
  // Of each rank's own link to the others of its node, one way: an NVLink port.
  double rank_port_bytes_per_second = kUnlimited;
  // Of a lane: for a byte that goes into a buffer of its own, and for one more source of a sum.
  double copy_seconds_per_byte = 0;
  double reduce_seconds_per_byte = 0;
};

// The nodes of a placement that has ranks, and whether they lie in several racks that are known.
int NodeCount(const RankPlacement& placement);
bool SpansRacks(const RankPlacement& placement);

// How long the links have rested before an isolated call, one of many: as long as the barrier takes
// that goes before it, a round of flags between nodes for every doubling of their number.
double IsolatedRefillSeconds(const SimMachine& machine);

enum class SimLevel : std::uint8_t { kNode, kRack, kFabric };
inline constexpr int kSimLevels = 3;

// Ranks that stand for others: what a rank does, all of its class do at the same time.
struct RankClasses {
  std::vector<int> class_of_rank = {};
  std::vector<int> representative = {};  // of each class, its lowest rank
  bool trivial() const { return class_of_rank.size() == representative.size(); }
};
RankClasses EveryRankAlone(int ranks);

// Where the resources of a machine are, for ranks of which some may stand for others.
class ResourceMap {
 public:
  // `machine` outlives it. Throws std::invalid_argument if the placement does not fit the classes'
  // ranks.
  ResourceMap(const SimMachine& machine, const RankClasses& classes);

  const std::vector<Resource>& resources() const { return resources_; }
  SimLevel LevelBetween(int a, int b) const;
  const LevelCost& CostOf(SimLevel level) const;
  // The resources of a message; those without a limit are left out.
  FlowPath PathBetween(int from, int to) const;
  // The memory of the rank's node: a path of nothing where it has no limit.
  FlowPath MemoryOf(int rank) const;

 private:
  std::int32_t AddResource(const Resource& resource);
  void AddNodes(const RankClasses& classes);
  void AddRacks();
  int RackOf(int rank) const;

  const SimMachine& machine_;
  std::vector<Resource> resources_;
  std::vector<int> class_of_rank_;
  // By rank: its resources (-1: no limit) and how many of its class share them.
  struct Of {
    std::int32_t transmit = -1, receive = -1, duplex = -1, memory = -1, up = -1, down = -1;
    std::int32_t port_out = -1, port_in = -1;
    float in_node = 1;
    float in_rack = 1;
  };
  std::vector<Of> of_;
};

}  // namespace hockney
