#include "bench/links/measured_racks.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "topology/latency_clusters.h"

namespace hockney {
namespace {

std::vector<std::string> HostsOf(const Topology& topology) {
  std::vector<std::string> hosts;
  hosts.reserve(topology.nodes());
  for (int node = 0; node < topology.nodes(); ++node) hosts.push_back(topology.host_name(node));
  return hosts;
}

// Whether the hosts lie in racks as the topology has been told.
bool IsKnown(const SwitchTree& measured, const Topology& topology) {
  const auto racks = FindRacks(measured, HostsOf(topology));
  for (int a = 0; a < topology.nodes(); ++a) {
    for (int b = 0; b < a; ++b) {
      const bool told =
          topology.rack_of_node(a) && topology.rack_of_node(a) == topology.rack_of_node(b);
      if (told != (racks[a] && racks[a] == racks[b])) return false;
    }
  }
  return true;
}

}  // namespace

SwitchTree RacksByLatency(const PairMatrix& matrix, const Topology& topology) {
  constexpr int kLeastHosts = 4;
  if (topology.nodes() < kLeastHosts) return {};
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  std::vector<int> node_of_rank;
  node_of_rank.reserve(ranks);
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    node_of_rank.push_back(topology.node_of_rank(rank));
  }
  // A pair was timed there and back as one, so that its directions tell no noise; the interval
  // does.
  std::vector<double> latency_us(ranks * ranks, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t a = 0; a < ranks; ++a) {
    for (std::size_t b = 0; b < ranks; ++b) {
      if (node_of_rank[a] < node_of_rank[b]) latency_us[a * ranks + b] = matrix.time_us[a][b];
      if (node_of_rank[a] > node_of_rank[b]) latency_us[a * ranks + b] = matrix.low_us[a][b];
    }
  }
  return ClusterByLatency(HostsOf(topology), HostLatencies(latency_us, node_of_rank));
}

std::string MeasuredRacksText(const SwitchTree& measured, const Topology& topology) {
  if (measured.racks.empty()) return "";
  if (IsKnown(measured, topology)) return "\nlatencies between hosts show the racks as told\n";
  std::string text =
      fmt::format("\nlatencies between hosts show {} racks{}:\n", measured.racks.size(),
                  topology.racks() > 0 ? ", others than told" : "");
  for (const SwitchTree::Rack& rack : measured.racks) {
    text += fmt::format("  {}{}: {}\n", rack.name, rack.pod.empty() ? "" : " in " + rack.pod,
                        fmt::join(rack.hosts, " "));
  }
  return text + "cluster.json in the run folder says so to --cluster-file\n";
}

}  // namespace hockney
