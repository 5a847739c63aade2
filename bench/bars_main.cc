#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "bench/bars.h"
#include "bench/exit_codes.h"

namespace hockney {
namespace {

// A folder of run folders stands for all of them.
std::vector<std::string> ExpandRuns(const std::vector<std::string>& runs) {
  namespace fs = std::filesystem;
  std::vector<std::string> expanded;
  for (const std::string& run : runs) {
    if (!fs::is_directory(run) || fs::exists(fs::path(run) / "sweep.csv")) {
      expanded.push_back(run);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
      if (fs::exists(entry.path() / "sweep.csv")) expanded.push_back(entry.path().string());
    }
  }
  std::sort(expanded.begin(), expanded.end());
  return expanded;
}

// Reads the folders; launches of different folders get different numbers of the same parity.
std::vector<SweepRow> ReadAll(const std::vector<std::string>& runs) {
  std::vector<SweepRow> rows;
  std::int64_t base = 0;
  for (const std::string& run : ExpandRuns(runs)) {
    std::int64_t last = -1;
    for (SweepRow& row : ReadSweep(run)) {
      last = std::max(last, row.launch);
      row.launch += base;
      rows.push_back(std::move(row));
    }
    base += (last + 2) / 2 * 2;
  }
  return rows;
}

void Print(const BarResult& result) {
  const char* sign = result.rule == BarRule::kFigureAtMost ? "<=" : ">=";
  fmt::print("| {} | {} | {:.2f} | {:.2f}..{:.2f} | {} {:.2f} | {} | {} |\n", result.what,
             result.choice, result.value, result.interval.low, result.interval.high, sign,
             result.bar, result.launches, result.met() ? "met" : "MISSED");
}

int Main(int argc, char** argv) {
  std::vector<std::string> runs;
  std::size_t least_launches = 5;
  int verifier = 0;
  CLI::App app(
      "Judges the bars of hosts and of the links between them on run folders and prints them as a "
      "table");
  app.add_option("run", runs, "Run folders of hockney sweep, several launches each");
  app.add_option("--launches", least_launches, "Launches a figure must rest on")
      ->capture_default_str();
  app.add_option("--verifier", verifier, "Time the verifier at 128 ranks, so many times a row");
  CLI11_PARSE(app, argc, argv);
  std::vector<std::string> notes;
  std::vector<BarResult> results = JudgeHostBars(ReadAll(runs), least_launches, &notes);
  for (const std::string& run : ExpandRuns(runs)) {
    const std::string name = std::filesystem::path(run).lexically_normal().filename().string();
    const std::vector<SweepRow> rows = ReadSweep(run);
    for (BarResult& result : JudgeNetworkBars(name, rows, least_launches, &notes)) {
      results.push_back(std::move(result));
    }
  }
  if (verifier > 0) results.push_back(JudgeVerifier(verifier));
  fmt::print("| what | judged row | value | interval | bar | launches | verdict |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  std::size_t met = 0;
  for (const BarResult& result : results) {
    Print(result);
    met += result.met() ? 1 : 0;
  }
  fmt::print("\n{} of {} met\n", met, results.size());
  for (const std::string& note : notes) fmt::print("left out: {}\n", note);
  return ToInt(ExitCode::kOk);
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  try {
    return hockney::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hockney_bars: %s\n", error.what());
    return hockney::ToInt(hockney::ExitCode::kUsage);
  }
}
