#pragma once

#include <functional>
#include <vector>

#include "bench/cell_schedule.h"
#include "bench/competitors.h"
#include "bench/groups/rank_groups.h"

namespace hockney {

// What the groups of a run must agree on while each measures the same cell. All functions are
// collective over all ranks and cost one group nothing but what it needs itself.

// Leaves the groups only competitors to time that every group can run; they come first, in the same
// order everywhere. The others are skipped with the reason.
void AgreeOnCompetitors(RankGroups& groups, std::vector<Competitor>& competitors);

// Returns the plan that all ranks follow, made of what the first rank of each group wants: what any
// group wants is timed in all of them.
CellSchedule::Plan AgreeOnPlan(RankGroups& groups, const CellSchedule::Plan& mine);

// Hands rank 0 every group's rows, one after the other with their groups side by side.
// Others hand over theirs.
void CollectCompetitors(RankGroups& groups, std::vector<Competitor>& competitors,
                        const std::function<void(const Competitor&)>& emit);

}  // namespace hockney
