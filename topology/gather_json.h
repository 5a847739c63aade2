#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace hockney {

class Session;

// Returns every rank's value in rank order; bytes that are not UTF-8 become the replacement
// character. Collective.
std::vector<nlohmann::ordered_json> GatherJson(Session& session,
                                               const nlohmann::ordered_json& mine);

}  // namespace hockney
