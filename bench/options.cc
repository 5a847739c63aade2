#include "bench/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <system_error>

#include "collectives/levels.h"

namespace hockney {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The first comma that is not in parentheses.
std::size_t FindComma(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth <= 0) return i;
  }
  return std::string_view::npos;
}

// Calls `take` for each entry of "a,b(c,d),e"; false if one was empty.
bool ForEachEntry(std::string_view text, const std::function<void(std::string_view)>& take) {
  while (true) {
    const std::size_t comma = FindComma(text);
    const std::string_view entry = text.substr(0, comma);
    if (entry.empty()) return false;
    take(entry);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

std::string Accepted(std::string_view entry, std::span<const std::string_view> names) {
  const auto close = Suggest(entry, names);
  return fmt::format("all, or a list of {}{}", fmt::join(names, ", "),
                     close ? fmt::format("; did you mean \"{}\"?", *close) : "");
}

// Reads a list of T; `find` returns the value of an entry, or nothing.
template <std::equality_comparable T>
std::vector<T> ParseList(std::string_view option, std::string_view text,
                         std::span<const std::string_view> names,
                         const std::function<std::optional<T>(std::string_view)>& find) {
  std::vector<T> values;
  const bool complete = ForEachEntry(text, [&](std::string_view entry) {
    const std::optional<T> value = find(entry);
    if (!value) FailOption(option, entry, Accepted(entry, names));
    if (std::find(values.begin(), values.end(), *value) == values.end()) values.push_back(*value);
  });
  if (!complete) FailOption(option, text, Accepted({}, names));
  return values;
}

Levels ReadLevels(std::string_view option, std::string_view text) {
  try {
    return ParseLevels(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}", option, error.what()));
  }
}

template <class All>
requires requires(const All& all) { Name(all[0]); }
auto ParseEnumerators(std::string_view option, std::string_view text, const All& all,
                      std::optional<typename All::value_type> (*parse)(std::string_view)) {
  using T = typename All::value_type;
  if (text == "all") return std::vector<T>(all.begin(), all.end());
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const T value : all) names.push_back(Name(value));
  return ParseList<T>(option, text, names, parse);
}

// Levenshtein distance: insertions, deletions and replacements that turn a into b.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string OptionName(const CLI::Option& option) {
  if (option.get_lnames().empty()) return option.get_name();
  const std::string name = "--" + option.get_lnames()[0];
  return option.get_snames().empty() ? name : fmt::format("{} (-{})", name, option.get_snames()[0]);
}

void FailOption(std::string_view option, std::string_view text, std::string_view expected) {
  std::string shown(text);
  // The message stays one line whatever was typed.
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  throw UsageError(fmt::format("{}: \"{}\": expected {}", option, shown, expected));
}

std::uint64_t ParseCount(std::string_view option, std::string_view text, std::uint64_t least) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least) {
    FailOption(option, text, fmt::format("a whole number from {} to 2^64-1", least));
  }
  return value;
}

double ParseDuration(std::string_view option, std::string_view text, BareNumber bare) {
  const std::string expected =
      fmt::format("a time above 0 with its unit us, ms, s, min or h, for example 500ms{}",
                  bare == BareNumber::kSeconds ? ", or a number of seconds" : "");
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  // from_chars also reads "inf", "nan" and a sign.
  if (text.empty() || !IsDigit(text[0]) || error != std::errc()) {
    FailOption(option, text, expected);
  }
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  double seconds = -1;
  if (unit.empty() && bare == BareNumber::kSeconds) seconds = value;
  for (const Unit& candidate : kUnits) {
    if (unit == candidate.name) seconds = value * candidate.seconds;
  }
  if (!(seconds > 0) || !std::isfinite(seconds)) FailOption(option, text, expected);
  return seconds;
}

std::vector<std::string> ParseNames(std::string_view option, std::string_view text,
                                    std::span<const std::string_view> names) {
  if (text == "all") return {names.begin(), names.end()};
  return ParseList<std::string>(option, text, names,
                                [&names](std::string_view entry) -> std::optional<std::string> {
                                  if (std::find(names.begin(), names.end(), entry) == names.end())
                                    return std::nullopt;
                                  return std::string(entry);
                                });
}

std::vector<std::string> ParseAlgorithms(std::string_view option, std::string_view text,
                                         std::span<const std::string_view> names) {
  if (text == "all") return {names.begin(), names.end()};
  return ParseList<std::string>(option, text, names,
                                [&](std::string_view entry) -> std::optional<std::string> {
                                  if (HasLevels(entry)) return NameOf(ReadLevels(option, entry));
                                  if (std::find(names.begin(), names.end(), entry) == names.end())
                                    return std::nullopt;
                                  return std::string(entry);
                                });
}

void CheckLevels(std::string_view option, std::string_view text, Collective collective) {
  const std::string reason = WhyUnfit(collective, ReadLevels(option, text), Protocol::kSimple);
  if (reason.empty()) return;
  FailOption(option, text, fmt::format("algorithms that fit {}: {}", Name(collective), reason));
}

std::vector<Collective> ParseCollectives(std::string_view option, std::string_view text) {
  return ParseEnumerators(option, text, kAllCollectives, ParseCollective);
}

std::vector<DataType> ParseDataTypes(std::string_view option, std::string_view text) {
  return ParseEnumerators(option, text, kAllDataTypes, ParseDataType);
}

std::vector<ReduceOp> ParseReduceOps(std::string_view option, std::string_view text) {
  return ParseEnumerators(option, text, kAllReduceOps, ParseReduceOp);
}

std::optional<std::string_view> Suggest(std::string_view text,
                                        std::span<const std::string_view> names) {
  std::optional<std::string_view> closest;
  std::size_t fewest = 0;
  for (const std::string_view name : names) {
    const std::size_t edits = Edits(text, name);
    if (edits > std::max(text.size(), name.size()) / 3) continue;
    if (!closest || edits < fewest) {
      closest = name;
      fewest = edits;
    }
  }
  return closest;
}

std::vector<int> ParseInts(const char* option, const std::string& text, std::uint64_t most) {
  std::vector<int> values;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::uint64_t value = 0;
    const char* const last = text.data() + end;
    const auto [stop, error] = std::from_chars(text.data() + at, last, value);
    if (error != std::errc() || stop != last || value < 1 || value > most) {
      FailOption(option, text,
                 "whole numbers of 1 to " + std::to_string(most) + ", comma-separated");
    }
    values.push_back(static_cast<int>(value));
    at = end + 1;
  }
  return values;
}

std::vector<std::string> CutAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

int ParseChoice(const char* option, const std::string& text,
                std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    FailOption(option, text, fmt::format("one of {}", fmt::join(names, " ")));
  return static_cast<int>(found - names.begin());
}

}  // namespace hockney
