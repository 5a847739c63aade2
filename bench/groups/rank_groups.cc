#include "bench/groups/rank_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "topology/agree.h"

namespace hockney {
namespace {

// Rank 0 alone reads a file, which need not lie on every host.
GroupMembers FindMembers(Session& world, const std::string& split) {
  const int ranks = world.ranks();
  std::vector<int> group_of(ranks, 0);
  RunOnAllOrThrow(world, [&] {
    if (split.empty() || world.rank() != 0) return;
    const GroupMembers members = SplitRanks(split, ranks);
    for (std::size_t group = 0; group < members.size(); ++group) {
      for (const int rank : members[group]) group_of[rank] = static_cast<int>(group);
    }
  });
  world.Broadcast(std::as_writable_bytes(std::span(group_of)), 0);
  GroupMembers members(1 + *std::max_element(group_of.begin(), group_of.end()));
  for (int rank = 0; rank < ranks; ++rank) members[group_of[rank]].push_back(rank);
  return members;
}

int GroupOf(const GroupMembers& members, int rank) {
  const auto has_rank = [rank](const std::vector<int>& group) {
    return std::binary_search(group.begin(), group.end(), rank);
  };
  return static_cast<int>(std::find_if(members.begin(), members.end(), has_rank) - members.begin());
}

bool IsSmaller(const std::vector<int>& a, const std::vector<int>& b) { return a.size() < b.size(); }

}  // namespace

RankGroups::RankGroups(Session& world, std::string split)
    : world_(world),
      split_(std::move(split)),
      members_(FindMembers(world, split_)),
      mine_(GroupOf(members_, world.rank())),
      session_(split_.empty() ? world : world.Split(mine_, world.rank())) {}

int RankGroups::smallest() const {
  return static_cast<int>(std::min_element(members_.begin(), members_.end(), IsSmaller)->size());
}

int RankGroups::largest() const {
  return static_cast<int>(std::max_element(members_.begin(), members_.end(), IsSmaller)->size());
}

std::string RankGroups::Label(int group) const {
  return is_split() ? fmt::format("{}/{}", split_, group) : "";
}

nlohmann::ordered_json RankGroups::Facts() const {
  if (!is_split()) return nullptr;
  return {{"split", split_}, {"ranks", members_}};
}

int GroupNumber(const std::string& label) {
  const std::size_t slash = label.rfind('/');
  return slash == std::string::npos ? 0 : std::atoi(label.c_str() + slash + 1);
}

}  // namespace hockney
