#include "topology/collect_topology.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "topology/affinity.h"
#include "topology/agree.h"
#include "topology/cluster_file.h"
#include "topology/gather_json.h"
#include "topology/slurm_topology.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

SwitchTree ReadHere(const TopologySources& sources) {
  if (!sources.cluster_file.empty() && !sources.slurm_topology.empty()) {
    throw std::invalid_argument("a cluster file and a Slurm topology: expected one of them");
  }
  if (!sources.cluster_file.empty()) return ReadClusterFile(sources.cluster_file);
  if (!sources.slurm_topology.empty()) return ReadSlurmTopology(sources.slurm_topology);
  const std::string path = Variable("HOCKNEY_CLUSTER_FILE");
  return path.empty() ? SwitchTree{} : ReadClusterFile(path);
}

Json TreeJson(const SwitchTree& tree) {
  Json racks = Json::array();
  for (const SwitchTree::Rack& rack : tree.racks) {
    racks.push_back({{"name", rack.name}, {"hosts", rack.hosts}, {"pod", rack.pod}});
  }
  return {{"racks", racks}, {"source", tree.source}};
}

SwitchTree TreeOf(const Json& json) {
  SwitchTree tree{.source = json.at("source")};
  for (const Json& rack : json.at("racks")) {
    tree.racks.push_back(
        {.name = rack.at("name"), .hosts = rack.at("hosts"), .pod = rack.at("pod")});
  }
  return tree;
}

Json OptionalJson(const std::optional<int>& value) { return value ? Json(*value) : Json(nullptr); }

std::optional<int> OptionalOf(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<int>(json.get<int>());
}

Json WaysJson(const std::map<std::string, GpuLevel>& ways) {
  Json json = Json::object();
  for (const auto& [bus_id, level] : ways) json[bus_id] = static_cast<int>(level);
  return json;
}

std::map<std::string, GpuLevel> WaysOf(const Json& json) {
  std::map<std::string, GpuLevel> ways;
  for (const auto& [bus_id, level] : json.items()) {
    ways[bus_id] = static_cast<GpuLevel>(level.get<int>());
  }
  return ways;
}

// The tree that the nodes' own switches make: the nearest is the rack's, the one above it the
// pod's.
SwitchTree TreeOfSwitches(std::span<const RankReport> reports) {
  SwitchTree tree{.source = "SLURM_TOPOLOGY_ADDR"};
  std::map<std::string, std::size_t> index;
  for (const RankReport& report : reports) {
    if (report.switches.empty()) return {};
    const auto [found, is_new] = index.emplace(report.switches[0], tree.racks.size());
    if (is_new) {
      tree.racks.push_back({.name = report.switches[0],
                            .pod = report.switches.size() > 1 ? report.switches[1] : ""});
    }
    auto& hosts = tree.racks[found->second].hosts;
    if (std::find(hosts.begin(), hosts.end(), report.site.host_name) == hosts.end()) {
      hosts.push_back(report.site.host_name);
    }
  }
  return tree;
}

// Threads have one machine, and hwloc takes long to look at it.
std::shared_ptr<const CpuMap> ShareCpuMap(Session& local) {
  if (local.kind() == RankKind::kProcesses) return std::make_shared<const CpuMap>(ReadCpuMap());
  std::shared_ptr<const CpuMap> mine;
  if (local.rank() == 0) mine = std::make_shared<const CpuMap>(ReadCpuMap());
  return std::static_pointer_cast<const CpuMap>(local.AllGatherShared(std::move(mine))[0]);
}

}  // namespace

SwitchTree ReadSwitchTree(Session& session, const TopologySources& sources) {
  SwitchTree tree;
  RunOnAllOrThrow(session, [&] {
    if (session.rank() == 0) tree = ReadHere(sources);
  });
  return TreeOf(GatherJson(session, session.rank() == 0 ? TreeJson(tree) : Json())[0]);
}

RankReport ReportOfThisRank(Session& local) {
  RankReport report;
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) report.site.host_name = name.data();
  report.site.cpus = PlaceOf(*ShareCpuMap(local), AllowedCpus());
  report.switches =
      ParseSlurmAddress(Variable("SLURM_TOPOLOGY_ADDR"), Variable("SLURM_TOPOLOGY_ADDR_PATTERN"));
  return report;
}

void AddGpu(const GpuTopology& gpus, const std::string& bus_id, RankSite* site) {
  site->gpu = bus_id;
  const auto mine = std::find_if(gpus.gpus.begin(), gpus.gpus.end(),
                                 [&](const GpuTopology::Gpu& gpu) { return gpu.bus_id == bus_id; });
  if (mine == gpus.gpus.end()) return;
  const auto& ways = gpus.between_gpus.at(mine - gpus.gpus.begin());
  for (std::size_t other = 0; other < gpus.gpus.size(); ++other) {
    site->to_gpus[gpus.gpus[other].bus_id] = ways[other].level;
  }
}

Topology CollectTopology(Session& session, Session& local, const RankReport& mine,
                         SwitchTree tree) {
  int node = session.rank();  // a node is known by the number of its first rank
  local.Broadcast(std::as_writable_bytes(std::span(&node, 1)), 0);
  const Json json = {{"host", mine.site.host_name},
                     {"node", node},
                     {"numa_node", OptionalJson(mine.site.cpus.numa_node)},
                     {"cache", OptionalJson(mine.site.cpus.cache)},
                     {"gpu", mine.site.gpu},
                     {"to_gpus", WaysJson(mine.site.to_gpus)},
                     {"switches", mine.switches}};
  std::vector<RankReport> reports;
  for (const Json& each : GatherJson(session, json)) {
    reports.push_back({.site = {.host_name = each.at("host"),
                                .node = each.at("node"),
                                .gpu = each.at("gpu"),
                                .to_gpus = WaysOf(each.at("to_gpus")),
                                .cpus = {.numa_node = OptionalOf(each.at("numa_node")),
                                         .cache = OptionalOf(each.at("cache"))}},
                       .switches = each.at("switches").get<std::vector<std::string>>()});
  }
  if (tree.racks.empty()) tree = TreeOfSwitches(reports);
  std::vector<RankSite> sites;
  sites.reserve(reports.size());
  for (RankReport& report : reports) sites.push_back(std::move(report.site));
  return Topology(std::move(sites), tree);
}

Topology CollectTopology(Session& session, Session& local, const TopologySources& sources) {
  SwitchTree tree = ReadSwitchTree(session, sources);
  return CollectTopology(session, local, ReportOfThisRank(local), std::move(tree));
}

}  // namespace hockney
