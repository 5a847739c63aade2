#include "topology/switch_tree.h"

#include <map>
#include <string_view>

namespace hockney {
namespace {

using Index = std::map<std::string, std::size_t, std::less<>>;

std::optional<std::size_t> Find(const Index& index, std::string_view name) {
  const auto found = index.find(name);
  return found == index.end() ? std::nullopt : std::optional<std::size_t>(found->second);
}

}  // namespace

std::vector<std::optional<std::size_t>> FindRacks(const SwitchTree& tree,
                                                  std::span<const std::string> hosts) {
  Index whole;
  Index without_domain;  // of the names in the tree that have one
  for (std::size_t rack = 0; rack < tree.racks.size(); ++rack) {
    for (const std::string& host : tree.racks[rack].hosts) {
      whole.emplace(host, rack);
      const std::size_t dot = host.find('.');
      if (dot != host.npos) without_domain.emplace(host.substr(0, dot), rack);
    }
  }
  std::vector<std::optional<std::size_t>> racks;
  for (const std::string& host : hosts) {
    std::optional<std::size_t> rack = Find(whole, host);
    const std::size_t dot = host.find('.');
    if (!rack && dot != host.npos) rack = Find(whole, std::string_view(host).substr(0, dot));
    if (!rack && dot == host.npos) rack = Find(without_domain, host);
    racks.push_back(rack);
  }
  return racks;
}

}  // namespace hockney
