#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/links/link_survey.h"

namespace hockney {

// Returns the findings as tables for people: levels, pairs together, matrices, slow pairs.
std::string LinksText(const LinkFindings& findings, const Topology& topology);

// Returns them for run.json: `levels`, `slow_pairs`, `across`.
nlohmann::ordered_json LinksJson(const LinkFindings& findings);

}  // namespace hockney
