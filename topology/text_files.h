#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hockney {

// Returns the text of a file of /proc or /sys without spaces at either end, empty if unreadable.
std::optional<std::string> ReadText(const std::filesystem::path& path);

// Returns the number that `text` starts with ("123 kB" is 123), empty if it starts with none.
std::optional<std::uint64_t> ParseUint(std::string_view text);

// Returns what follows `key` and a colon or blanks on its line of `text`, as in /proc/meminfo and
// memory.stat; empty if there is no such line.
std::optional<std::string> FindValue(std::string_view text, std::string_view key);

// Reads and writes CPU lists as Linux spells them: "0-3,8". Malformed text gives an empty result.
std::optional<std::vector<int>> ParseCpuList(std::string_view text);
std::string FormatCpuList(const std::vector<int>& sorted_cpus);

}  // namespace hockney
