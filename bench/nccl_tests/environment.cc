#include "bench/nccl_tests/environment.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "bench/options.h"

namespace hockney {
namespace {

constexpr std::string_view kMinimum = "NCCL_TESTS_MIN_BW";

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

// Scripts pass a mask of 0x0 where they want no split.
bool IsZero(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return !text.empty() && text.find_first_not_of('0') == std::string_view::npos;
}

bool IsUnsupported(std::string_view name) {
  return name == "NCCL_TESTS_SPLIT" || name == "NCCL_TESTS_SPLIT_MASK" ||
         name == "NCCL_TESTS_DEVICE" || name.starts_with("NCCL_TESTS_ALLTOALLV_");
}

}  // namespace

NcclTestsEnvironment ReadNcclTestsEnvironment(std::span<const std::string> entries) {
  NcclTestsEnvironment environment;
  for (const std::string_view entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const std::string_view text = entry.substr(equals + 1);
    if (name == kMinimum) environment.minimum_busbw_GBps = ParseMinimum(text);
    if (IsUnsupported(name) && !(name == "NCCL_TESTS_SPLIT_MASK" && IsZero(text))) {
      FailOption(name, text, "the variable not to be set: it is not supported here");
    }
  }
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
