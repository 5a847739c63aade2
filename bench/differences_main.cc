// hockney_differences A B: which rows of two run folders differ, by the medians of their launches.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

#include "bench/differences.h"
#include "bench/exit_codes.h"
#include "bench/text_table.h"

namespace hockney {
namespace {

int Main(const std::string& a, const std::string& b) {
  const Comparison comparison = FindDifferences(ReadSweep(a), ReadSweep(b));
  const auto& differences = comparison.differences;
  std::vector<std::vector<std::string>> table = {
      {"row", "b over a", "95 % interval", "p", "launches", "claimed"}};
  for (const Difference& d : differences) {
    table.push_back({d.what, fmt::format("{:.3f}", d.ratio.value),
                     fmt::format("{:.3f}..{:.3f}", d.ratio.interval.low, d.ratio.interval.high),
                     fmt::format("{:.4f}", d.p_value),
                     fmt::format("{}, {}", d.launches_a, d.launches_b), d.claimed ? "yes" : "no"});
  }
  fmt::print("{}", FormatTable(table));
  const auto claimed = std::count_if(differences.begin(), differences.end(),
                                     [](const Difference& d) { return d.claimed; });
  for (const std::string& row : comparison.only_a) fmt::print("only in {}: {}\n", a, row);
  for (const std::string& row : comparison.only_b) fmt::print("only in {}: {}\n", b, row);
  fmt::print("{} of {} rows differ\n", claimed, differences.size());
  return ToInt(claimed > 0 ? ExitCode::kRegression : ExitCode::kOk);
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  using hockney::ExitCode;
  if (argc != 3) {
    std::fputs(
        "usage: hockney_differences A B\n"
        "Compares two run folders, row by row, by the medians of their launches (5 or more each).\n"
        "Rows that only one of them has are listed.\n"
        "Exits 0 if no difference can be claimed at 5 % for all rows together, 6 if one can.\n",
        stderr);
    return hockney::ToInt(ExitCode::kUsage);
  }
  try {
    return hockney::Main(argv[1], argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "hockney_differences: {}\n", error.what());
    return hockney::ToInt(ExitCode::kUsage);
  }
}
