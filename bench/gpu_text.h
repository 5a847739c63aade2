#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hockney {

// Returns GpuTopologyJson as text for people: a row of levels for each GPU, and its nearest NIC.
std::string GpuTopologyText(const nlohmann::ordered_json& topology);

}  // namespace hockney
