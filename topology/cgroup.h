#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hockney {

// What one control group, or one above it, lets this process have.
struct CgroupMemory {
  std::uint64_t limit_bytes = 0;
  std::uint64_t available_bytes = 0;  // limit - use + page cache that can be dropped
  std::string file;                   // that states the limit
};

// Returns the memory limit of this process that leaves least, over its control group and all above
// it, version 1 or 2; empty if none is set or readable. `root` is "/" but in tests.
std::optional<CgroupMemory> ReadCgroupMemory(const std::filesystem::path& root);

// Returns the CPUs that the control group of this process may use, empty if that cannot be read.
std::optional<std::vector<int>> ReadCgroupCpus(const std::filesystem::path& root);

}  // namespace hockney
