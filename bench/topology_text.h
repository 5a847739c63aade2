#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hockney {

// Returns TopologyJson as text for people: a tree from the fabric down to the ranks, and the matrix
// of levels.
std::string TopologyText(const nlohmann::ordered_json& topology);

}  // namespace hockney
