#include "bench/topology_text.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bench/text_table.h"
#include "bench/topology_report.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

std::string TextOr(const Json& value, const char* otherwise) {
  if (value.is_null()) return otherwise;
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string Ranks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + FormatCpuList(ranks);
}

// "numa 0 (cache 0: ranks 0-1; cache 1: rank 2); unbound: rank 3" of the ranks of one host.
std::string InsideHost(const Json& topology, const Json& host) {
  std::map<int, std::map<int, std::vector<int>>> ranks_at;  // [NUMA node][cache], -1: not known
  for (const Json& rank : host["ranks"]) {
    const Json& place = topology["ranks"][rank.get<std::size_t>()];
    const auto number = [&](const char* key) {
      return place[key].is_null() ? -1 : place[key].get<int>();
    };
    ranks_at[number("numa_node")][number("cache")].push_back(rank);
  }
  std::string text;
  for (const auto& [numa_node, caches] : ranks_at) {
    std::string inside;
    for (const auto& [cache, ranks] : caches) {
      if (!inside.empty()) inside += "; ";
      if (cache >= 0) inside += fmt::format("cache {}: ", cache);
      inside += Ranks(ranks);
    }
    if (!text.empty()) text += "; ";
    text += numa_node >= 0 ? fmt::format("numa {} ({})", numa_node, inside)
                           : fmt::format("on no one numa node ({})", inside);
  }
  return text;
}

// Hosts by rack by pod, in the order in which they come; "" is none.
using Racks = std::vector<std::pair<std::string, std::vector<const Json*>>>;
using Pods = std::vector<std::pair<std::string, Racks>>;

template <class Groups>
auto& GroupOf(Groups& groups, const std::string& name) {
  for (auto& [known, members] : groups) {
    if (known == name) return members;
  }
  return groups.emplace_back(name, typename Groups::value_type::second_type()).second;
}

std::string HostLines(const Json& topology, const std::vector<const Json*>& hosts,
                      const std::string& indent) {
  if (topology["hosts"].size() > kMostMatrixHosts) {
    std::size_t ranks = 0;
    for (const Json* host : hosts) ranks += (*host)["ranks"].size();
    return fmt::format("{}{} hosts, {} ranks\n", indent, hosts.size(), ranks);
  }
  std::string text;
  for (const Json* host : hosts) {
    text += fmt::format("{}node {}: {}\n", indent, TextOr((*host)["name"], "-"),
                        InsideHost(topology, *host));
  }
  return text;
}

std::string Tree(const Json& topology) {
  Pods pods;
  for (const Json& host : topology["hosts"]) {
    GroupOf(GroupOf(pods, TextOr(host["pod"], "")), TextOr(host["rack"], "")).push_back(&host);
  }
  std::string indent = "  ";
  std::string text;
  if (topology["hosts"].size() > 1) {
    text += indent + "fabric\n";
    indent += "  ";
  }
  for (const auto& [pod, racks] : pods) {
    if (!pod.empty()) text += fmt::format("{}pod {}\n", indent, pod);
    const std::string rack_indent = indent + (pod.empty() ? "" : "  ");
    for (const auto& [rack, hosts] : racks) {
      if (!rack.empty()) text += fmt::format("{}rack {}\n", rack_indent, rack);
      text += HostLines(topology, hosts, rack_indent + (rack.empty() ? "" : "  "));
    }
  }
  return text;
}

std::string HostsWithoutRack(const Json& topology) {
  constexpr std::size_t kMostNames = 8;
  std::string names;
  std::size_t count = 0;
  for (const Json& host : topology["hosts"]) {
    if (!host["rack"].is_null()) continue;
    if (count++ < kMostNames) names += (names.empty() ? "" : ", ") + TextOr(host["name"], "-");
  }
  if (count == 0) return "";
  if (count > kMostNames) names += fmt::format(" and {} more", count - kMostNames);
  return fmt::format("  not in it: {}\n", names);
}

// The letters that occur, with their names: "= self, c cache".
std::string LegendText(const Json& legend, const std::string& used) {
  std::string text;
  for (const auto& [letter, name] : legend.items()) {
    if (used.find(letter) == used.npos) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", letter, TextOr(name, "-"));
  }
  return text;
}

std::string Matrix(const Json& topology) {
  const Json& matrix = topology["matrix"];
  if (matrix.is_null()) return "";
  const std::string between = matrix["between"];
  const bool of_ranks = between == "ranks";
  std::vector<std::vector<std::string>> rows;
  std::string used;
  std::size_t number = 0;
  for (const Json& row : matrix["rows"]) {
    const std::string letters = row;
    used += letters;
    std::vector<std::string> cells = {std::to_string(number), letters};
    if (!of_ranks) cells.push_back(TextOr(topology["hosts"][number]["name"], "-"));
    rows.push_back(std::move(cells));
    ++number;
  }
  std::string text =
      fmt::format("levels between {}: {}\n", between, LegendText(matrix["legend"], used));
  rows.insert(rows.begin(), of_ranks ? std::vector<std::string>{"rank", "to each rank"}
                                     : std::vector<std::string>{"host", "to each host", "name"});
  return text + FormatTable(rows);
}

}  // namespace

std::string TopologyText(const Json& topology) {
  std::string pairs;
  for (const auto& [level, count] : topology["pairs"].items()) {
    pairs += fmt::format("{}{} {}", pairs.empty() ? "" : ", ", level, count.get<long long>());
  }
  const std::string racks =
      topology["source"].is_null()
          ? "not known (--cluster-file, --slurm-topology or HOCKNEY_CLUSTER_FILE tells)"
          : "by " + TextOr(topology["source"], "-");
  std::string text = fmt::format("topology: racks {}; pairs of ranks: {}\n", racks,
                                 pairs.empty() ? "none" : pairs);
  if (!topology["source"].is_null()) text += HostsWithoutRack(topology);
  return text + Tree(topology) + Matrix(topology);
}

}  // namespace hockney
