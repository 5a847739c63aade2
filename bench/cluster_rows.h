#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hockney {

// The cluster presets that are compiled in, as the rows of a table; and as their files are, with
// the source of each number.
std::vector<std::vector<std::string>> ClusterRows();
nlohmann::ordered_json ClusterJson();

}  // namespace hockney
