#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/groups/split_rule.h"
#include "topology/session.h"

namespace hockney {

// The groups of a run, which do everything at the same time: all ranks in one, or what --split
// says.
class RankGroups {
 public:
  // `split` is a checked text, empty for one group; `world` outlives the groups. Collective over
  // `world`; throws Agreed<InputError> for a file of groups that does not fit.
  RankGroups(Session& world, std::string split);

  bool is_split() const { return !split_.empty(); }
  int count() const { return static_cast<int>(members_.size()); }
  int mine() const { return mine_; }
  // World ranks of a group, in the order of the group's ranks; and of this rank's.
  const std::vector<int>& members(int group) const { return members_[group]; }
  const std::vector<int>& members() const { return members_[mine_]; }
  int smallest() const;  // ranks in it
  int largest() const;
  // The ranks of this group; all ranks without --split.
  Session& session() { return session_; }
  Session& world() { return world_; }

  // What the column `groups` says of a group's rows: "DIV:4/1"; empty without --split.
  std::string Label(int group) const;
  // For run.json: {"split": "DIV:4", "ranks": [[0, 1, 2, 3], ...]}; null without --split.
  nlohmann::ordered_json Facts() const;

 private:
  Session& world_;
  std::string split_;
  GroupMembers members_;
  int mine_ = 0;
  Session session_;
};

// Returns the number of the group that a row's `groups` names, 0 if it names none.
int GroupNumber(const std::string& label);

}  // namespace hockney
