#include "topology/cluster_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "topology/check.h"
#include "topology/hostlist.h"
#include "topology/input_file.h"
#include "topology/json_reader.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

class Reader : private JsonReader {
 public:
  explicit Reader(std::string_view file) : JsonReader(file), file_(file) {}

  SwitchTree Read(const Json& root) {
    const JsonPlace top{root, ""};
    RequireMembers(top, {"racks", "pods"});
    SwitchTree tree{.source = fmt::format("cluster file {}", file_)};
    for (const JsonPlace& rack : Entries(Member(top, "racks"))) ReadRack(rack, &tree);
    if (tree.racks.empty()) Fail(Member(top, "racks"), "at least one rack");
    if (!root.contains("pods")) return tree;
    for (const JsonPlace& pod : Entries(Member(top, "pods"))) ReadPod(pod, &tree);
    return tree;
  }

 private:
  void ReadRack(const JsonPlace& place, SwitchTree* tree) {
    RequireMembers(place, {"name", "hosts"});
    const JsonPlace name = Member(place, "name");
    SwitchTree::Rack rack{.name = Text(name)};
    if (!rack_index_.emplace(rack.name, tree->racks.size()).second) {
      Fail(name, "a rack's name once only");
    }
    for (const JsonPlace& hosts : Entries(Member(place, "hosts"))) {
      for (const std::string& host : Expand(hosts)) {
        const auto [found, is_new] = rack_of_host_.emplace(host, rack.name);
        if (!is_new) {
          Fail(hosts,
               fmt::format("a host once only, but {} is in \"{}\" already", host, found->second));
        }
        rack.hosts.push_back(host);
      }
    }
    if (rack.hosts.empty()) Fail(Member(place, "hosts"), "at least one host");
    tree->racks.push_back(std::move(rack));
  }

  std::vector<std::string> Expand(const JsonPlace& place) const {
    try {
      return ExpandHostlist(Text(place));
    } catch (const HostlistError& error) {
      throw InputError(fmt::format("{}: {}: {}", file_, place.path, error.what()));
    }
  }

  void ReadPod(const JsonPlace& place, SwitchTree* tree) {
    RequireMembers(place, {"name", "racks"});
    const JsonPlace name_place = Member(place, "name");
    const std::string name = Text(name_place);
    const bool taken = std::any_of(tree->racks.begin(), tree->racks.end(),
                                   [&](const auto& rack) { return rack.pod == name; });
    if (taken) Fail(name_place, "a pod's name once only");
    for (const JsonPlace& each : Entries(Member(place, "racks"))) {
      const auto found = rack_index_.find(Text(each));
      if (found == rack_index_.end()) Fail(each, "the name of one of \"racks\"");
      SwitchTree::Rack& rack = tree->racks[found->second];
      if (!rack.pod.empty()) {
        Fail(each, fmt::format("a rack in one pod only, but it is in \"{}\" already", rack.pod));
      }
      rack.pod = name;
    }
  }

  std::string_view file_;
  std::map<std::string, std::size_t> rack_index_ = {};
  std::map<std::string, std::string> rack_of_host_ = {};
};

}  // namespace

SwitchTree ParseClusterFile(std::string_view text, std::string_view file) {
  return Reader(file).Read(ParseJsonInput(text, file));
}

SwitchTree ReadClusterFile(const std::string& path) {
  return ParseClusterFile(ReadInputFile(path), path);
}

std::string FormatClusterFile(const SwitchTree& tree) {
  nlohmann::ordered_json file = {{"racks", nlohmann::ordered_json::array()}};
  std::map<std::string, std::vector<std::string>> racks_of_pod;
  for (const SwitchTree::Rack& rack : tree.racks) {
    file["racks"].push_back({{"name", rack.name}, {"hosts", rack.hosts}});
    if (!rack.pod.empty()) racks_of_pod[rack.pod].push_back(rack.name);
  }
  for (const auto& [pod, racks] : racks_of_pod) {
    file["pods"].push_back({{"name", pod}, {"racks", racks}});
  }
  return file.dump(2) + "\n";
}

}  // namespace hockney
