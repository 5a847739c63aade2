#include "bench/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>

#include "bench/options.h"

namespace hockney {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kAfterZero = 8;  // the smallest default size of a sweep
constexpr char kExpected[] =
    "a whole number of bytes with an optional suffix K, M, G or T (powers of 1024), for example "
    "64M";

char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Returns the power of 1024 of a suffix, or nothing if it is none.
std::optional<int> SuffixPower(std::string_view suffix) {
  const std::size_t power =
      suffix.empty() ? std::string_view::npos : std::string_view("KMGT").find(Upper(suffix[0]));
  const bool scaled = power != std::string_view::npos;
  if (scaled) suffix.remove_prefix(1);
  if (scaled && suffix.size() == 2 && Upper(suffix[0]) == 'I') suffix.remove_prefix(1);
  const bool known = suffix.empty() || (suffix.size() == 1 && Upper(suffix[0]) == 'B');
  if (!known) return std::nullopt;
  return scaled ? static_cast<int>(power) + 1 : 0;
}

void CheckSteps(std::uint64_t begin, std::uint64_t end, std::optional<std::uint64_t> factor,
                std::optional<std::uint64_t> increment) {
  const auto text = [](std::uint64_t value) { return std::to_string(value); };
  if (end < begin) {
    FailOption("--maxbytes (-e)", text(end), fmt::format("at least --minbytes (-b), {}", begin));
  }
  if (factor == 0U) FailOption("--stepfactor (-f)", "0", "a whole number of at least 2");
  if (increment == 0U) FailOption("--stepbytes (-i)", "0", "at least 1 byte");
  if (factor.value_or(1) > 1 && increment) {
    FailOption("--stepfactor (-f)", text(*factor), "1 or no factor beside --stepbytes (-i)");
  }
  if (factor == 1U && !increment && begin != end) {
    FailOption("--stepfactor (-f)", "1", "at least 2, or an increment with --stepbytes (-i)");
  }
  if (increment && (end - begin) / *increment >= kMostSizes) {
    FailOption("--stepbytes (-i)", text(*increment),
               fmt::format("an increment that gives at most {} sizes", kMostSizes));
  }
}

}  // namespace

std::uint64_t ParseSize(std::string_view option, std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) FailOption(option, text, "at most 2^64-1 bytes");
  if (error != std::errc()) FailOption(option, text, kExpected);
  const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
  if (suffix.starts_with('.')) {
    FailOption(option, text, "a whole number; write a fraction in the next smaller suffix, 1536K");
  }
  const std::optional<int> power = SuffixPower(suffix);
  if (!power) FailOption(option, text, kExpected);
  const int shift = 10 * *power;
  if (value > kLargest >> shift) FailOption(option, text, "at most 2^64-1 bytes");
  return value << shift;
}

std::string FormatSize(std::uint64_t bytes) {
  constexpr const char* kSuffixes[] = {"", "K", "M", "G", "T"};
  int suffix = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && suffix < 4) {
    bytes /= 1024;
    ++suffix;
  }
  return fmt::format("{}{}", bytes, kSuffixes[suffix]);
}

std::vector<std::uint64_t> SizeList(std::uint64_t begin, std::uint64_t end,
                                    std::optional<std::uint64_t> factor,
                                    std::optional<std::uint64_t> increment) {
  CheckSteps(begin, end, factor, increment);
  std::vector<std::uint64_t> sizes;
  std::uint64_t size = begin;
  while (true) {
    sizes.push_back(size);
    if (size == end) return sizes;
    if (increment) {
      if (*increment > end - size) return sizes;
      size += *increment;
    } else if (size == 0) {
      size = std::min(kAfterZero, end);
    } else {
      const std::uint64_t times = factor.value_or(2);
      if (size > end / times) return sizes;
      size *= times;
    }
  }
}

}  // namespace hockney
