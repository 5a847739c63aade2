#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/competitors.h"

namespace hockney {

// What has been measured of a competitor, for another rank to report: its row and its times, not
// what could run it.
nlohmann::ordered_json ToJson(const Competitor& competitor);
Competitor ReadCompetitor(const nlohmann::ordered_json& json);

}  // namespace hockney
