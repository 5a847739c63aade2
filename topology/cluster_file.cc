#include "topology/cluster_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>

#include "topology/check.h"
#include "topology/hostlist.h"
#include "topology/input_file.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// A value and the way to it.
struct Place {
  const Json& value;
  std::string path;
};

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  SwitchTree Read(const Json& root) {
    const Place top{root, ""};
    RequireMembers(top, {"racks", "pods"});
    SwitchTree tree{.source = fmt::format("cluster file {}", file_)};
    for (const Place& rack : Entries(Member(top, "racks"))) ReadRack(rack, &tree);
    if (tree.racks.empty()) Fail(Member(top, "racks"), "at least one rack");
    if (!root.contains("pods")) return tree;
    for (const Place& pod : Entries(Member(top, "pods"))) ReadPod(pod, &tree);
    return tree;
  }

 private:
  [[noreturn]] void Fail(const Place& place, std::string_view expected) const {
    constexpr std::size_t kLongest = 60;
    std::string found = place.value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > kLongest) found = found.substr(0, kLongest) + "...";
    throw InputError(fmt::format("{}: {}: {}: expected {}", file_,
                                 place.path.empty() ? "the whole" : place.path, found, expected));
  }

  void RequireMembers(const Place& place, std::initializer_list<std::string_view> names) const {
    std::string accepted;
    for (const std::string_view name : names) {
      accepted += fmt::format("{}\"{}\"", accepted.empty() ? "" : " and ", name);
    }
    if (!place.value.is_object()) Fail(place, "an object with " + accepted);
    for (const auto& [key, value] : place.value.items()) {
      if (std::find(names.begin(), names.end(), key) != names.end()) continue;
      Fail({value, place.path.empty() ? key : place.path + "." + key},
           fmt::format("no member \"{}\", only {}", key, accepted));
    }
  }

  Place Member(const Place& place, const std::string& name) const {
    const auto found = place.value.find(name);
    if (found == place.value.end()) Fail(place, fmt::format("a member \"{}\"", name));
    return {*found, place.path.empty() ? name : place.path + "." + name};
  }

  std::vector<Place> Entries(const Place& place) const {
    if (!place.value.is_array()) Fail(place, "an array");
    std::vector<Place> entries;
    for (std::size_t i = 0; i < place.value.size(); ++i) {
      entries.push_back({place.value[i], fmt::format("{}[{}]", place.path, i)});
    }
    return entries;
  }

  std::string Text(const Place& place) const {
    if (!place.value.is_string() || place.value.get_ref<const std::string&>().empty()) {
      Fail(place, "a name in quotes");
    }
    return place.value.get<std::string>();
  }

  void ReadRack(const Place& place, SwitchTree* tree) {
    RequireMembers(place, {"name", "hosts"});
    const Place name = Member(place, "name");
    SwitchTree::Rack rack{.name = Text(name)};
    if (!rack_index_.emplace(rack.name, tree->racks.size()).second) {
      Fail(name, "a rack's name once only");
    }
    for (const Place& hosts : Entries(Member(place, "hosts"))) {
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

  std::vector<std::string> Expand(const Place& place) const {
    try {
      return ExpandHostlist(Text(place));
    } catch (const HostlistError& error) {
      throw InputError(fmt::format("{}: {}: {}", file_, place.path, error.what()));
    }
  }

  void ReadPod(const Place& place, SwitchTree* tree) {
    RequireMembers(place, {"name", "racks"});
    const Place name_place = Member(place, "name");
    const std::string name = Text(name_place);
    const bool taken = std::any_of(tree->racks.begin(), tree->racks.end(),
                                   [&](const auto& rack) { return rack.pod == name; });
    if (taken) Fail(name_place, "a pod's name once only");
    for (const Place& each : Entries(Member(place, "racks"))) {
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
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    const bool printable = offset < text.size() && text[offset] > ' ' && text[offset] <= '~';
    const std::string found = printable              ? fmt::format("\"{}\"", text[offset])
                              : offset < text.size() ? "a character that does not print"
                                                     : "the end of the text";
    FailInput(file, PositionAt(text, offset), found + ": expected JSON");
  }
  return Reader(file).Read(root);
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
