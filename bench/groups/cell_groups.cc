#include "bench/groups/cell_groups.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/choice.h"
#include "bench/groups/competitor_json.h"
#include "topology/gather_json.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// Whether this rank speaks for its group.
bool Leads(RankGroups& groups) { return groups.session().rank() == 0; }

// The variants that all groups can run, in the order of the first group.
std::vector<std::string> FindCommon(RankGroups& groups, std::span<const Competitor> competitors) {
  Json mine = Json::array();
  for (const Competitor& competitor : competitors) {
    if (Leads(groups) && competitor.active) mine.push_back(VariantOf(competitor.row));
  }
  const std::vector<Json> all = GatherJson(groups.world(), mine);
  std::map<std::string, int> having;
  for (const Json& theirs : all) {
    for (const auto& variant : theirs) ++having[variant];
  }
  std::vector<std::string> common;
  for (const auto& variant : all[0]) {
    if (having[variant] == groups.count()) common.push_back(variant);
  }
  return common;
}

// What one group wants goes for all; a choice is made when all have come so far, by the group that
// its rows keep waiting longest.
void Merge(const CellSchedule::Plan& other, CellSchedule::Plan& plan) {
  plan.rounds = std::max(plan.rounds, other.rounds);
  plan.interrupted = std::max(plan.interrupted, other.interrupted);
  for (std::size_t i = 0; i < CellSchedule::Plan::kMostCompetitors; ++i) {
    plan.active[i] = std::max(plan.active[i], other.active[i]);
  }
  if (plan.chosen < 0 || other.chosen < 0) {
    plan.chosen = -1;
  } else if (other.chosen_us > plan.chosen_us) {
    plan.chosen = other.chosen;
    plan.chosen_us = other.chosen_us;
  }
}

}  // namespace

void AgreeOnCompetitors(RankGroups& groups, std::vector<Competitor>& competitors) {
  if (!groups.is_split()) return;
  const std::vector<std::string> common = FindCommon(groups, competitors);
  const auto place_of = [&](const Competitor& competitor) {
    const auto found = competitor.active
                           ? std::find(common.begin(), common.end(), VariantOf(competitor.row))
                           : common.end();
    return found - common.begin();
  };
  for (Competitor& competitor : competitors) {
    if (!competitor.active || place_of(competitor) < static_cast<int>(common.size())) continue;
    competitor.active = false;
    competitor.row.status = Status::kSkipped;
    competitor.row.reason = "another group cannot run it";
  }
  std::stable_sort(
      competitors.begin(), competitors.end(),
      [&](const Competitor& a, const Competitor& b) { return place_of(a) < place_of(b); });
}

CellSchedule::Plan AgreeOnPlan(RankGroups& groups, const CellSchedule::Plan& mine) {
  CellSchedule::Plan plan = mine;
  const auto bytes = std::as_writable_bytes(std::span(&plan, 1));
  if (!groups.is_split()) {
    groups.world().Broadcast(bytes, 0);
    return plan;
  }
  const auto all = groups.world().AllGather(Leads(groups) ? bytes : bytes.first(0));
  for (int group = 0; group < groups.count(); ++group) {
    CellSchedule::Plan theirs;
    std::memcpy(&theirs, all[groups.members(group)[0]].data(), sizeof theirs);
    if (group == 0) {
      plan = theirs;
    } else {
      Merge(theirs, plan);
    }
  }
  return plan;
}

void CollectCompetitors(RankGroups& groups, std::vector<Competitor>& competitors,
                        const std::function<void(const Competitor&)>& emit) {
  if (!groups.is_split()) {
    if (!Leads(groups)) return;
    for (const Competitor& competitor : competitors) {
      if (IsRow(competitor)) emit(competitor);
    }
    return;
  }
  Json mine = Json::array();
  for (Competitor& competitor : competitors) {
    if (!Leads(groups)) break;
    competitor.row.groups = groups.Label(groups.mine());
    mine.push_back(ToJson(competitor));
  }
  const std::vector<Json> all = GatherJson(groups.world(), mine);
  if (groups.world().rank() != 0) return;
  std::size_t most = 0;
  for (const Json& theirs : all) most = std::max(most, theirs.size());
  for (std::size_t i = 0; i < most; ++i) {
    for (int group = 0; group < groups.count(); ++group) {
      const Json& theirs = all[groups.members(group)[0]];
      if (i < theirs.size()) emit(ReadCompetitor(theirs[i]));
    }
  }
}

}  // namespace hockney
