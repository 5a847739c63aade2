#include "bench/topology_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "bench/json_values.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// Letter to name.
template <class Levels>
Json Legend(const Levels& levels) {
  Json legend = Json::object();
  for (const auto level : levels) legend[std::string(1, Letter(level))] = Name(level);
  return legend;
}

Level FarthestInside(const Topology& topology, int node) {
  Level farthest = Level::kSelf;
  const std::vector<int>& ranks = topology.ranks_of_node(node);
  for (const int a : ranks) {
    for (const int b : ranks) farthest = std::max(farthest, topology.LevelBetween(a, b));
  }
  return farthest;
}

// Rows of letters of a square matrix.
template <class LevelOf>
Json LetterRows(int count, const LevelOf& level_of) {
  Json rows = Json::array();
  for (int a = 0; a < count; ++a) {
    std::string row;
    for (int b = 0; b < count; ++b) row += Letter(level_of(a, b));
    rows.push_back(row);
  }
  return rows;
}

Json MatrixJson(const Topology& topology) {
  if (topology.ranks() <= kMostMatrixRanks) {
    return {{"between", "ranks"},
            {"legend", Legend(kAllLevels)},
            {"rows", LetterRows(topology.ranks(),
                                [&](int a, int b) { return topology.LevelBetween(a, b); })}};
  }
  if (topology.nodes() > kMostMatrixHosts) return nullptr;
  return {{"between", "hosts"},
          {"legend", Legend(kAllLevels)},
          {"rows", LetterRows(topology.nodes(), [&](int a, int b) {
             return a == b ? FarthestInside(topology, a) : topology.LevelBetweenNodes(a, b);
           })}};
}

Json HostJson(const Topology& topology, int node) {
  const auto rack = topology.rack_of_node(node);
  const auto pod = rack ? topology.pod_of_rack(*rack) : std::nullopt;
  return {{"name", topology.host_name(node)},
          {"rack", rack ? Json(topology.rack_name(*rack)) : Json(nullptr)},
          {"pod", pod ? Json(topology.pod_name(*pod)) : Json(nullptr)},
          {"ranks", topology.ranks_of_node(node)}};
}

Json PathTexts(const std::vector<DevicePath>& paths) {
  Json texts = Json::array();
  for (const DevicePath& path : paths) texts.push_back(path.text);
  return texts;
}

std::string Letters(const std::vector<DevicePath>& paths) {
  std::string letters;
  for (const DevicePath& path : paths) letters += Letter(path.level);
  return letters;
}

}  // namespace

Json TopologyJson(const Topology& topology) {
  Json json = {{"source", TextOrNull(topology.source())},
               {"racks", topology.racks()},
               {"pods", topology.pods()},
               {"ranks_per_host", topology.ranks_per_node()}};
  Json& hosts = json["hosts"] = Json::array();
  for (int node = 0; node < topology.nodes(); ++node) hosts.push_back(HostJson(topology, node));
  Json& ranks = json["ranks"] = Json::array();
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    const CpuPlace& cpus = topology.cpus_of_rank(rank);
    ranks.push_back({{"numa_node", OrNull(cpus.numa_node)}, {"cache", OrNull(cpus.cache)}});
  }
  Json& pairs = json["pairs"] = Json::object();
  const std::vector<long long> counts = topology.pairs_by_level();
  for (const Level level : kAllLevels) {
    const long long count = counts[static_cast<std::size_t>(level)];
    if (count > 0) pairs[std::string(Name(level))] = count;
  }
  json["matrix"] = MatrixJson(topology);
  return json;
}

Json GpuTopologyJson(const GpuTopology& topology) {
  Json json = {{"source", topology.source},
               {"unknown_because", TextOrNull(topology.unknown_because)},
               {"legend", Legend(kAllGpuLevels)}};
  Json& gpus = json["gpus"] = Json::array();
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    const GpuTopology::Gpu& gpu = topology.gpus[i];
    Json nearest = Json::array();
    for (const int nic : NearestNics(topology, static_cast<int>(i))) nearest.push_back(nic);
    gpus.push_back({{"name", gpu.name},
                    {"bus_id", TextOrNull(gpu.bus_id)},
                    {"numa_node", OrNull(gpu.numa_node)},
                    {"cpus", TextOrNull(gpu.cpu_list)},
                    {"to_gpus", Letters(topology.between_gpus[i])},
                    {"paths_to_gpus", PathTexts(topology.between_gpus[i])},
                    {"to_nics", Letters(topology.to_nics[i])},
                    {"paths_to_nics", PathTexts(topology.to_nics[i])},
                    {"nearest_nics", nearest}});
  }
  Json& nics = json["nics"] = Json::array();
  for (const GpuTopology::Nic& nic : topology.nics) {
    nics.push_back(
        {{"name", nic.name}, {"device", TextOrNull(nic.device)}, {"Gbit_s", OrNull(nic.gbit_s)}});
  }
  json["notes"] = topology.notes;
  return json;
}

}  // namespace hockney
