#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hockney {

// Returns the array "launches" of the run.json in `folder`, empty if there is none yet. Throws
// std::invalid_argument if the folder is another command's or has files and no run.json, and if the
// launches there cannot be compared with one whose facts are `facts`: another build, MPI, number or
// kind of ranks, or processor.
nlohmann::ordered_json EarlierLaunches(const std::filesystem::path& folder,
                                       const std::string& command,
                                       const nlohmann::ordered_json& facts);

// The number of launches that the run.json in `folder` lists; 0 without one.
std::uint64_t CountLaunches(const std::filesystem::path& folder);

}  // namespace hockney
