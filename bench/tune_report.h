#pragma once

#include <string>

#include "tuner/select/active_search.h"
#include "tuner/select/regret.h"

namespace hockney {

// Returns the rules as a table: a line a range.
std::string RulesTable(const Tuning& tuning);

// Returns the regret of the methods as a table with what it means, and the tuner's worst cells; a
// line that says why there is none for a report without methods.
std::string RegretTable(const RegretReport& report);

// Returns a line on what a search would have cost; empty if nothing was searched.
std::string SearchLine(const SearchReport& report);

}  // namespace hockney
