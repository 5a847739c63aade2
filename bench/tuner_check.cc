#include "bench/tuner_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "topology/check.h"
#include "topology/gather_json.h"
#include "topology/machine.h"
#include "topology/session.h"
#include "tuner/plugin/nccl_rules.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVariable = "NCCL_TUNER_CONFIG_FILE";

// What the plugin in this process would read.
Json ReadRules(const std::optional<std::string>& file) {
  const char* const set = std::getenv(kVariable);
  const std::string path = file.value_or(set == nullptr ? "" : set);
  Json mine = {{"host", ReadMachine().host_name.value_or("a host without name")},
               {"path", path},
               {"error", ""},
               {"hash", ""},
               {"rules", 0}};
  try {
    if (path.empty()) {
      throw InputError(fmt::format("{} is not set: expected the path of a rule file", kVariable));
    }
    const std::string text = ReadNcclRuleFile(path);
    mine["rules"] = ParseNcclRules(text, path).size();
    mine["hash"] = HashOfNcclRules(text);
  } catch (const InputError& error) {
    mine["error"] = error.what();
  }
  return mine;
}

// Ranks that would choose alike.
struct Group {
  std::string hash = {};
  std::string error = {};
  std::string path = {};
  std::size_t rules = 0;
  std::vector<std::string> hosts = {};
};

std::vector<Group> GroupRanks(const std::vector<Json>& all) {
  std::vector<Group> groups;
  for (const Json& each : all) {
    const auto hash = each["hash"].get<std::string>();
    const auto error = each["error"].get<std::string>();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
      return known.hash == hash && known.error == error;
    });
    if (group == groups.end()) {
      groups.push_back({.hash = hash,
                        .error = error,
                        .path = each["path"].get<std::string>(),
                        .rules = each["rules"].get<std::size_t>()});
      group = groups.end() - 1;
    }
    const auto host = each["host"].get<std::string>();
    const bool is_new =
        std::find(group->hosts.begin(), group->hosts.end(), host) == group->hosts.end();
    if (is_new) group->hosts.push_back(host);
  }
  return groups;
}

std::string Differences(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) {
    const std::string what = group.error.empty()
                                 ? fmt::format("hash {} ({} rules)", group.hash, group.rules)
                                 : group.error;
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", what, fmt::join(group.hosts, ", "));
  }
  return text;
}

}  // namespace

int CheckTuner(Session& session, const std::optional<std::string>& file) {
  const std::vector<Group> groups = GroupRanks(GatherJson(session, ReadRules(file)));
  const Group& first = groups.front();
  if (groups.size() > 1) {
    throw Agreed<EnvironmentError>(
        "NCCL's rules differ between ranks, which would choose unlike algorithms and hang: " +
        Differences(groups));
  }
  if (!first.error.empty()) throw Agreed<InputError>(first.error);
  if (session.rank() == 0) {
    fmt::print("NCCL's rules: {}, hash {}, {} rules: the same for {} ranks on {} hosts\n",
               first.path, first.hash, first.rules, session.ranks(), first.hosts.size());
  }
  return 0;
}

}  // namespace hockney
