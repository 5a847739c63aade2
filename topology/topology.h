#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/cpu_map.h"
#include "topology/levels.h"
#include "topology/switch_tree.h"

namespace hockney {

// Where one rank is.
struct RankSite {
  std::string host_name = {};
  int node = 0;  // ranks with equal numbers share a host, as MPI says; any numbers
  // Of a rank that works on a GPU: the bus id, and the way from it to GPUs of this host by their
  // bus ids; none is known without NVML.
  std::string gpu = {};
  std::map<std::string, GpuLevel> to_gpus = {};
  CpuPlace cpus = {};  // empty where the rank is bound to no one cache or NUMA node
};

// The machine that a run sees: its ranks on nodes (hosts), those in racks, those in pods. All
// numbers count from 0 in the order of their first ranks. Immutable.
class Topology {
 public:
  // sites[r] is rank r's; a node's name is that of its first rank. A rack or pod without a rank of
  // this run is left out, a host that the tree does not name is in no rack. Throws
  // std::invalid_argument without ranks.
  explicit Topology(std::vector<RankSite> sites, const SwitchTree& tree = {});

  int ranks() const { return static_cast<int>(sites_.size()); }
  int nodes() const { return static_cast<int>(nodes_.size()); }
  int racks() const { return static_cast<int>(racks_.size()); }
  int pods() const { return static_cast<int>(pods_.size()); }

  // The nearest thing both ranks are known to be in. Hosts whose racks are not known, or unlike and
  // in no common pod, have the fabric between them. Symmetric; kSelf for a rank with itself only.
  Level LevelBetween(int rank_a, int rank_b) const;
  // The same between any ranks of two nodes; between a node and itself kNode.
  Level LevelBetweenNodes(int node_a, int node_b) const;

  int node_of_rank(int rank) const { return sites_.at(rank).node; }
  const CpuPlace& cpus_of_rank(int rank) const { return sites_.at(rank).cpus; }
  std::optional<int> rack_of_node(int node) const { return nodes_.at(node).rack; }
  std::optional<int> pod_of_rack(int rack) const { return racks_.at(rack).pod; }

  const std::string& host_name(int node) const { return nodes_.at(node).name; }
  const std::string& rack_name(int rack) const { return racks_.at(rack).name; }
  const std::string& pod_name(int pod) const { return pods_.at(pod); }
  // Who says which racks there are; empty: nobody.
  const std::string& source() const { return source_; }

  // Ascending.
  const std::vector<int>& ranks_of_node(int node) const { return nodes_.at(node).ranks; }
  std::vector<int> nodes_of_rack(int rack) const;
  std::vector<int> racks_of_pod(int pod) const;
  // One number a node, since they may differ.
  std::vector<int> ranks_per_node() const;
  // Of all pairs of ranks, how many have each level; [static_cast<int>(level)].
  std::vector<long long> pairs_by_level() const;

 private:
  struct Node {
    std::string name = {};
    std::vector<int> ranks = {};
    std::optional<int> rack = {};
  };
  struct Rack {
    std::string name = {};
    std::optional<int> pod = {};
  };

  void NumberNodes();
  void PlaceNodes(const SwitchTree& tree);

  std::vector<RankSite> sites_;
  std::vector<Node> nodes_ = {};
  std::vector<Rack> racks_ = {};
  std::vector<std::string> pods_ = {};
  std::string source_;
};

// Returns numbers of ranks a node as text: "2,2,3"; from 17 nodes on "64 of 8, 1 of 7".
std::string FormatRanksPerNode(std::span<const int> ranks_per_node);

}  // namespace hockney
