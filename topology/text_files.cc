#include "topology/text_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace hockney {
namespace {

constexpr std::string_view kBlanks = " \t\n";
constexpr int kMostCpus = 1 << 20;  // guards against absurd ranges in a damaged list

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

}  // namespace

std::optional<std::string> ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return std::nullopt;
  return std::string(Trim(text));
}

std::optional<std::uint64_t> ParseUint(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::string> FindValue(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const std::size_t value = line.find_first_not_of(kBlanks);
    if (value == 0 && line[0] != ':') continue;  // a longer key
    if (value == std::string_view::npos) continue;
    line.remove_prefix(value);
    if (line[0] == ':') line.remove_prefix(1);
    return std::string(Trim(line));
  }
  return std::nullopt;
}

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc()) return std::nullopt;
    int last = first;
    if (parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
      if (parsed.ec != std::errc()) return std::nullopt;
    }
    if (first < 0 || last < first || last > kMostCpus) return std::nullopt;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = parsed.ptr;
    if (at != end && (*at++ != ',' || at == end)) return std::nullopt;
  }
  return cpus;
}

std::string FormatCpuList(const std::vector<int>& sorted_cpus) {
  std::string text;
  for (std::size_t i = 0; i < sorted_cpus.size();) {
    std::size_t last = i;
    while (last + 1 < sorted_cpus.size() && sorted_cpus[last + 1] == sorted_cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", sorted_cpus[i]);
    if (last > i) text += fmt::format("-{}", sorted_cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace hockney
