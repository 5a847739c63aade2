#include "topology/topology.h"

#include <fmt/core.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

namespace hockney {
namespace {

// Numbers things in the order in which they are first asked for.
template <class Key>
class Numbering {
 public:
  int Of(const Key& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, int> numbers_;
};

template <class T>
bool KnownEqual(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() && a == b;
}

}  // namespace

Topology::Topology(std::vector<RankSite> sites, const SwitchTree& tree)
    : sites_(std::move(sites)), source_(tree.source) {
  if (sites_.empty()) throw std::invalid_argument("Topology: no ranks");
  NumberNodes();
  PlaceNodes(tree);
}

void Topology::NumberNodes() {
  Numbering<int> numbering;
  for (std::size_t rank = 0; rank < sites_.size(); ++rank) {
    RankSite& site = sites_[rank];
    site.node = numbering.Of(site.node);
    if (site.node == nodes()) nodes_.push_back({.name = site.host_name});
    nodes_[site.node].ranks.push_back(static_cast<int>(rank));
  }
}

void Topology::PlaceNodes(const SwitchTree& tree) {
  std::vector<std::string> hosts;
  for (const Node& node : nodes_) hosts.push_back(node.name);
  const auto racks = FindRacks(tree, hosts);
  Numbering<std::size_t> rack_numbers;
  Numbering<std::string> pod_numbers;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (!racks[n]) continue;
    const SwitchTree::Rack& rack = tree.racks[*racks[n]];
    const int number = rack_numbers.Of(*racks[n]);
    nodes_[n].rack = number;
    if (number < this->racks()) continue;
    racks_.push_back({.name = rack.name});
    if (rack.pod.empty()) continue;
    const int pod = pod_numbers.Of(rack.pod);
    racks_.back().pod = pod;
    if (pod == pods()) pods_.push_back(rack.pod);
  }
}

Level Topology::LevelBetween(int rank_a, int rank_b) const {
  const RankSite& a = sites_.at(rank_a);
  const RankSite& b = sites_.at(rank_b);
  if (rank_a == rank_b) return Level::kSelf;
  if (a.node != b.node) return LevelBetweenNodes(a.node, b.node);
  if (!a.gpu.empty() && !b.gpu.empty()) {
    if (a.gpu == b.gpu) return Level::kGpu;
    const auto way = a.to_gpus.find(b.gpu);
    return way == a.to_gpus.end() ? Level::kNode : LevelOf(way->second);
  }
  if (KnownEqual(a.cpus.cache, b.cpus.cache)) return Level::kCache;
  if (KnownEqual(a.cpus.numa_node, b.cpus.numa_node)) return Level::kNuma;
  return Level::kNode;
}

Level Topology::LevelBetweenNodes(int node_a, int node_b) const {
  const Node& a = nodes_.at(node_a);
  const Node& b = nodes_.at(node_b);
  if (node_a == node_b) return Level::kNode;
  if (KnownEqual(a.rack, b.rack)) return Level::kRack;
  if (a.rack && b.rack && KnownEqual(racks_[*a.rack].pod, racks_[*b.rack].pod)) return Level::kPod;
  return Level::kFabric;
}

std::vector<int> Topology::nodes_of_rack(int rack) const {
  std::vector<int> found;
  for (int node = 0; node < nodes(); ++node) {
    if (nodes_[node].rack == rack) found.push_back(node);
  }
  return found;
}

std::vector<int> Topology::racks_of_pod(int pod) const {
  std::vector<int> found;
  for (int rack = 0; rack < racks(); ++rack) {
    if (racks_[rack].pod == pod) found.push_back(rack);
  }
  return found;
}

std::vector<int> Topology::ranks_per_node() const {
  std::vector<int> counts;
  for (const Node& node : nodes_) counts.push_back(static_cast<int>(node.ranks.size()));
  return counts;
}

std::vector<long long> Topology::pairs_by_level() const {
  std::vector<long long> pairs(kAllLevels.size());
  const auto count = [&](Level level, long long more) { pairs[static_cast<int>(level)] += more; };
  for (int a = 0; a < nodes(); ++a) {  // by nodes: the ranks may be many thousands
    const auto& ranks = nodes_[a].ranks;
    const auto here = static_cast<long long>(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) count(LevelBetween(ranks[i], ranks[j]), 1);
    }
    for (int b = 0; b < a; ++b) {
      count(LevelBetweenNodes(a, b), here * static_cast<long long>(nodes_[b].ranks.size()));
    }
  }
  return pairs;
}

std::string FormatRanksPerNode(std::span<const int> ranks_per_node) {
  constexpr std::size_t kLongestList = 16;
  std::string text;
  if (ranks_per_node.size() <= kLongestList) {
    for (const int ranks : ranks_per_node)
      text += fmt::format("{}{}", text.empty() ? "" : ",", ranks);
    return text;
  }
  std::map<int, int, std::greater<>> nodes_with;
  for (const int ranks : ranks_per_node) ++nodes_with[ranks];
  for (const auto& [ranks, nodes] : nodes_with) {
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", nodes, ranks);
  }
  return text;
}

}  // namespace hockney
