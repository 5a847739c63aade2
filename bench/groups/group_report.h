#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "bench/groups/split_rule.h"
#include "tuner/records.h"

namespace hockney {

// Reads the groups out of a run's facts (RankGroups::Facts); none without --split.
GroupMembers ReadGroups(const nlohmann::ordered_json& facts);

// Returns a line that says which ranks of these facts work together; empty without --split.
std::string DescribeGroups(const nlohmann::ordered_json& facts);

// Returns for each size the choice whose slowest group is fastest, since all wait for that one, as
// a table; with the name of that group, and how many times the time of the fastest group it takes.
std::string FastestOfGroups(std::span<const SweepRow> rows, const GroupMembers& groups);

}  // namespace hockney
