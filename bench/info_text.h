#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hockney {

// Returns what `hockney info --json` prints as text for people.
std::string InfoText(const nlohmann::ordered_json& info);

}  // namespace hockney
