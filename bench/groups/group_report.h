#pragma once

#include <span>
#include <string>

#include "bench/groups/split_rule.h"
#include "tuner/records.h"

namespace hockney {

// A line that says which ranks work together.
std::string DescribeGroups(const std::string& split, const GroupMembers& groups);

// Returns for each size the choice whose slowest group is fastest, since all wait for that one, as
// a table; with the name of that group, and how many times the time of the fastest group it takes.
std::string FastestOfGroups(std::span<const SweepRow> rows, const GroupMembers& groups);

}  // namespace hockney
