#include "bench/nccl_tests/environment.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "bench/groups/split_rule.h"
#include "bench/options.h"

namespace hockney {
namespace {

constexpr std::string_view kMinimum = "NCCL_TESTS_MIN_BW";
constexpr std::string_view kSplit = "NCCL_TESTS_SPLIT";
constexpr std::string_view kSplitMask = "NCCL_TESTS_SPLIT_MASK";

double ParseMinimum(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // from_chars also reads "inf", "nan" and a minus sign.
  if (error != std::errc() || stop != end || !std::isfinite(value) || std::signbit(value)) {
    FailOption(kMinimum, text, "a bus bandwidth in GB/s (1e9 bytes/s) from 0");
  }
  return value;
}

// The text of --split for a mask, which is hexadecimal with or without 0x; a mask of 0 leaves all
// ranks in one group.
std::string SplitOfMask(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::uint64_t mask = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, mask, 16);
  if (error != std::errc() || stop != end) FailOption(kSplitMask, text, "a hexadecimal number");
  return mask == 0 ? "" : "AND:0x" + std::string(digits);
}

bool IsUnsupported(std::string_view name) {
  return name == "NCCL_TESTS_DEVICE" || name.starts_with("NCCL_TESTS_ALLTOALLV_");
}

}  // namespace

NcclTestsEnvironment ReadNcclTestsEnvironment(std::span<const std::string> entries) {
  NcclTestsEnvironment environment;
  std::string masked;
  for (const std::string_view entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view text = entry.substr(equals + 1);
    if (name == kMinimum) environment.minimum_busbw_GBps = ParseMinimum(text);
    if (name == kSplit) environment.split = SplitOfNcclTests(kSplit, text);
    if (name == kSplitMask) masked = SplitOfMask(text);
    if (IsUnsupported(name)) {
      FailOption(name, text, "the variable not to be set: it is not supported here");
    }
  }
  if (environment.split.empty()) environment.split = masked;
  return environment;
}

std::vector<std::string> ProcessEnvironment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace hockney
