#include "topology/cgroup.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "topology/text_files.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;

// One hierarchy is spelled differently in each version; the files mean the same.
struct MemoryFiles {
  const char* limit;
  const char* usage;
  const char* droppable;  // key in memory.stat
};
constexpr MemoryFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file"};
constexpr MemoryFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

// Version 1 has no word for "no limit": it states the largest multiple of the page size below 2^63.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

bool Contains(std::string_view comma_list, std::string_view word) {
  std::istringstream words{std::string(comma_list)};
  for (std::string each; std::getline(words, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

// Returns the folder of this process's group in the hierarchy of `controller` and those above it,
// the innermost first. An empty controller means version 2. In a container the path of
// /proc/self/cgroup may not exist below the mount; the folders above it are then those that count.
std::vector<fs::path> GroupFolders(const fs::path& root, std::string_view controller) {
  const auto groups = ReadText(root / "proc/self/cgroup");
  if (!groups) return {};
  std::istringstream lines(*groups);
  for (std::string line; std::getline(lines, line);) {  // "4:memory:/path" or "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? !controllers.empty() : !Contains(controllers, controller)) continue;
    const fs::path mount = root / "sys/fs/cgroup" / controllers;
    std::vector<fs::path> folders;
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();;
         group = group.parent_path()) {
      folders.push_back(group.empty() ? mount : mount / group);
      if (group.empty()) return folders;
    }
  }
  return {};
}

std::optional<CgroupMemory> ReadLimit(const fs::path& folder, const MemoryFiles& files) {
  const auto limit = ParseUint(ReadText(folder / files.limit).value_or(""));
  const auto usage = ParseUint(ReadText(folder / files.usage).value_or(""));
  if (!limit || !usage || *limit >= kNoLimit) return std::nullopt;  // "max" is no number
  const auto stat = ReadText(folder / "memory.stat").value_or("");
  const auto droppable = ParseUint(FindValue(stat, files.droppable).value_or("")).value_or(0);
  const std::uint64_t held = *usage - std::min(*usage, droppable);
  return CgroupMemory{.limit_bytes = *limit,
                      .available_bytes = *limit - std::min(*limit, held),
                      .file = (folder / files.limit).string()};
}

}  // namespace

std::optional<CgroupMemory> ReadCgroupMemory(const fs::path& root) {
  std::optional<CgroupMemory> tightest;
  const auto consider = [&](const std::vector<fs::path>& folders, const MemoryFiles& files) {
    for (const auto& folder : folders) {
      auto limit = ReadLimit(folder, files);
      if (limit && (!tightest || limit->available_bytes < tightest->available_bytes)) {
        tightest = std::move(limit);
      }
    }
  };
  consider(GroupFolders(root, "memory"), kVersion1);
  consider(GroupFolders(root, ""), kVersion2);
  return tightest;
}

std::optional<std::vector<int>> ReadCgroupCpus(const fs::path& root) {
  const auto read = [](const std::vector<fs::path>& folders,
                       const char* file) -> std::optional<std::vector<int>> {
    for (const auto& folder : folders) {
      const auto text = ReadText(folder / file);
      if (text && !text->empty()) return ParseCpuList(*text);
    }
    return std::nullopt;
  };
  if (auto cpus = read(GroupFolders(root, "cpuset"), "cpuset.effective_cpus")) return cpus;
  return read(GroupFolders(root, ""), "cpuset.cpus.effective");
}

}  // namespace hockney
