#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "bench/exit_codes.h"
#include "bench/export_gain.h"
#include "bench/report_main.h"
#include "topology/check.h"
#include "topology/input_file.h"

namespace hockney {
namespace {

int Main(int argc, char** argv) {
  std::string rules_file;
  std::string folder;
  CLI::App app("Compares the run folders of scripts/export_gain and writes gain.md there");
  app.add_option("rules", rules_file, "The rule file that hockney tune exported for Open MPI")
      ->required();
  app.add_option("folder", folder,
                 "Folder that holds the run folders `default` and `exported`; without it, the "
                 "collectives that the rules name are printed");
  CLI11_PARSE(app, argc, argv);
  const OmpiRules rules = ReadOmpiRules(rules_file, ReadInputFile(rules_file));
  CheckOmpiRules(rules_file, rules);
  if (folder.empty()) {
    for (const Collective collective : CollectivesOf(rules)) fmt::print("{}\n", Name(collective));
    return ToInt(ExitCode::kOk);
  }
  const std::filesystem::path path(folder);
  const GainReport report = ReportExportGain(ReadSweep((path / "default").string()),
                                             ReadSweep((path / "exported").string()), rules);
  if (report.cells_compared == 0) {
    throw EnvironmentError(folder + ": no size was measured in both ways");
  }
  fmt::print("{}", report.text);
  ReplaceFile((path / "gain.md").string(), report.text);
  return ToInt(ExitCode::kOk);
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  return hockney::RunReport("hockney_export_gain", hockney::Main, argc, argv);
}
