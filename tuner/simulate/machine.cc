#include "tuner/simulate/machine.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <stdexcept>

namespace hockney {
namespace {

bool IsLimited(const Resource& resource) { return resource.bytes_per_second < kUnlimited; }

// Numbers of ranks by (place, class), and for each place a place that holds the same: the first one
// with equal numbers of every class.
struct Sharing {
  std::vector<std::map<int, int>> members;  // by place: class -> ranks
  std::vector<int> stands_for_it;           // by place
};

Sharing FindSharing(const std::vector<int>& place_of_rank, const std::vector<int>& class_of_rank) {
  Sharing sharing;
  const int places = *std::max_element(place_of_rank.begin(), place_of_rank.end()) + 1;
  sharing.members.resize(places);
  for (std::size_t rank = 0; rank < place_of_rank.size(); ++rank) {
    ++sharing.members[place_of_rank[rank]][class_of_rank[rank]];
  }
  std::map<std::map<int, int>, int> first;
  sharing.stands_for_it.reserve(places);
  for (int place = 0; place < places; ++place) {
    sharing.stands_for_it.push_back(first.try_emplace(sharing.members[place], place).first->second);
  }
  return sharing;
}

}  // namespace

int NodeCount(const RankPlacement& placement) {
  return *std::max_element(placement.node_of_rank.begin(), placement.node_of_rank.end()) + 1;
}

bool SpansRacks(const RankPlacement& placement) {
  const std::vector<int>& racks = placement.rack_of_node;
  return !racks.empty() && *std::max_element(racks.begin(), racks.end()) > 0;
}

double IsolatedRefillSeconds(const SimMachine& machine) {
  const LevelCost& slowest = SpansRacks(machine.placement) ? machine.fabric : machine.rack;
  const auto others = static_cast<unsigned>(NodeCount(machine.placement) - 1);
  return std::bit_width(others) * (slowest.overhead_seconds + slowest.alpha_seconds);
}

RankClasses EveryRankAlone(int ranks) {
  RankClasses classes;
  classes.class_of_rank.resize(ranks);
  std::iota(classes.class_of_rank.begin(), classes.class_of_rank.end(), 0);
  classes.representative = classes.class_of_rank;
  return classes;
}

ResourceMap::ResourceMap(const SimMachine& machine, const RankClasses& classes)
    : machine_(machine), class_of_rank_(classes.class_of_rank), of_(class_of_rank_.size()) {
  if (machine.placement.node_of_rank.size() != class_of_rank_.size() || class_of_rank_.empty()) {
    throw std::invalid_argument("simulation: a placement of another number of ranks");
  }
  AddNodes(classes);
  AddRacks();
}

std::int32_t ResourceMap::AddResource(const Resource& resource) {
  if (!IsLimited(resource)) return -1;
  resources_.push_back(resource);
  return static_cast<std::int32_t>(resources_.size()) - 1;
}

void ResourceMap::AddNodes(const RankClasses& classes) {
  const Sharing sharing = FindSharing(machine_.placement.node_of_rank, class_of_rank_);
  std::vector<Of> of_node(sharing.members.size());
  for (std::size_t node = 0; node < of_node.size(); ++node) {
    Of& of = of_node[node];
    const auto same = static_cast<std::size_t>(sharing.stands_for_it[node]);
    if (same != node) {
      of = of_node[same];
      continue;
    }
    of.transmit = AddResource(machine_.node_transmit);
    of.receive = AddResource(machine_.node_receive);
    of.duplex = AddResource({.bytes_per_second = machine_.node_duplex_bytes_per_second});
    of.memory = AddResource({.bytes_per_second = machine_.node_memory_bytes_per_second});
  }
  std::vector<Of> of_class(classes.representative.size());
  for (Of& of : of_class) {
    of.port_out = AddResource({.bytes_per_second = machine_.rank_port_bytes_per_second});
    of.port_in = AddResource({.bytes_per_second = machine_.rank_port_bytes_per_second});
  }
  for (std::size_t rank = 0; rank < of_.size(); ++rank) {
    const int node = machine_.placement.node_of_rank[rank];
    const int its_class = class_of_rank_[rank];
    of_[rank] = of_node[node];
    of_[rank].port_out = of_class[its_class].port_out;
    of_[rank].port_in = of_class[its_class].port_in;
    of_[rank].in_node = static_cast<float>(sharing.members[node].at(its_class));
  }
}

int ResourceMap::RackOf(int rank) const {
  const auto& racks = machine_.placement.rack_of_node;
  return racks.empty() ? 0 : racks[machine_.placement.node_of_rank[rank]];
}

void ResourceMap::AddRacks() {
  if (machine_.placement.rack_of_node.empty()) return;
  std::vector<int> rack_of_rank(of_.size());
  for (std::size_t rank = 0; rank < of_.size(); ++rank) {
    rack_of_rank[rank] = RackOf(static_cast<int>(rank));
  }
  const Sharing sharing = FindSharing(rack_of_rank, class_of_rank_);
  std::vector<std::int32_t> up(sharing.members.size(), -1);
  std::vector<std::int32_t> down(sharing.members.size(), -1);
  for (std::size_t rack = 0; rack < up.size(); ++rack) {
    const auto same = static_cast<std::size_t>(sharing.stands_for_it[rack]);
    up[rack] = same == rack ? AddResource(machine_.rack_up) : up[same];
    down[rack] = same == rack ? AddResource(machine_.rack_down) : down[same];
  }
  for (std::size_t rank = 0; rank < of_.size(); ++rank) {
    const int rack = rack_of_rank[rank];
    of_[rank].up = up[rack];
    of_[rank].down = down[rack];
    of_[rank].in_rack = static_cast<float>(sharing.members[rack].at(class_of_rank_[rank]));
  }
}

SimLevel ResourceMap::LevelBetween(int a, int b) const {
  const auto& nodes = machine_.placement.node_of_rank;
  if (nodes[a] == nodes[b]) return SimLevel::kNode;
  return RackOf(a) == RackOf(b) ? SimLevel::kRack : SimLevel::kFabric;
}

const LevelCost& ResourceMap::CostOf(SimLevel level) const {
  switch (level) {
    case SimLevel::kNode:
      return machine_.node;
    case SimLevel::kRack:
      return machine_.rack;
    case SimLevel::kFabric:
      return machine_.fabric;
  }
  return machine_.fabric;
}

FlowPath ResourceMap::PathBetween(int from, int to) const {
  FlowPath path;
  const auto add = [&](std::int32_t resource, float weight) {
    if (resource >= 0) path.Add(resource, weight);
  };
  const Of& a = of_[from];
  const Of& b = of_[to];
  const SimLevel level = LevelBetween(from, to);
  if (level == SimLevel::kNode) {
    add(a.port_out, 1);
    add(b.port_in, 1);
    return path;
  }
  add(a.transmit, a.in_node);
  add(b.receive, b.in_node);
  add(a.duplex, a.in_node);
  // One node's resource twice would count its own flow twice: where nodes stand for each other both
  // directions use the same.
  if (b.duplex == a.duplex) {
    if (a.duplex >= 0) path.parts[path.size - 1].weight += b.in_node;
  } else {
    add(b.duplex, b.in_node);
  }
  if (level == SimLevel::kFabric) {
    add(a.up, a.in_rack);
    add(b.down, b.in_rack);
  }
  return path;
}

FlowPath ResourceMap::MemoryOf(int rank) const {
  FlowPath path;
  if (of_[rank].memory >= 0) path.Add(of_[rank].memory, of_[rank].in_node);
  return path;
}

}  // namespace hockney
