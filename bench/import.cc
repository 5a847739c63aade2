#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/build.h"
#include "bench/commands.h"
#include "bench/exit_codes.h"
#include "bench/facts.h"
#include "bench/launch.h"
#include "bench/options.h"
#include "bench/sizes.h"
#include "tuner/import/link_rows.h"
#include "tuner/import/read_log.h"
#include "tuner/plugin/tuner_abi.h"
#include "tuner/records.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;

struct Texts {
  std::vector<std::string> files;
  std::string ranks;
  std::string library;
  std::string type;
  std::string nodes;
  std::string collective;
  std::string size;
  std::string nccl_algorithm;
  std::string nccl_protocol;
  std::string out;
};

// A table that is known in full.
struct Import {
  ImportedTable table = {};
  std::vector<SweepRow> rows = {};
  fs::path folder = {};
};

// Answers that may differ between tables.
struct Lists {
  std::vector<std::string> libraries = {};
  std::vector<int> ranks = {};
};

Lists ReadLists(const Texts& texts) {
  constexpr std::uint64_t kMostRanks = 1 << 30;
  Lists lists{.libraries = CutAtCommas(texts.library)};
  for (const std::string& library : lists.libraries) {
    if (library.empty() || library.find_first_of(";=\n") != library.npos) {
      FailOption("--library", texts.library, "a name without ; and =, as \"Open MPI 4.1.4\"");
    }
  }
  if (!texts.ranks.empty()) lists.ranks = ParseInts("--ranks", texts.ranks, kMostRanks);
  return lists;
}

void CheckCount(const char* option, const std::string& text, std::size_t values,
                std::size_t tables) {
  if (values <= 1 || values == tables) return;
  FailOption(option, text, fmt::format("one value, or one for each of the {} tables", tables));
}

ImportAnswers ReadAnswers(const Texts& texts) {
  ImportAnswers answers;
  if (!texts.type.empty()) {
    const std::vector<DataType> types = ParseDataTypes("--dtype", texts.type);
    if (types.size() != 1) FailOption("--dtype", texts.type, "one type");
    answers.dtype = types[0];
  }
  if (!texts.collective.empty()) {
    const std::vector<Collective> all = ParseCollectives("--collective", texts.collective);
    if (all.size() != 1) FailOption("--collective", texts.collective, "one collective");
    answers.collective = all[0];
  }
  if (!texts.nodes.empty()) {
    answers.nodes = static_cast<int>(ParseCount("--nodes", texts.nodes, 1));
  }
  if (!texts.size.empty()) answers.size_bytes = ParseSize("--size", texts.size);
  if (texts.nccl_algorithm.empty() != texts.nccl_protocol.empty()) {
    throw UsageError("--nccl-algorithm and --nccl-protocol: expected both or neither");
  }
  if (!texts.nccl_algorithm.empty()) {
    answers.nccl_algorithm = tuner_abi::kAlgorithms[ParseChoice(
        "--nccl-algorithm", texts.nccl_algorithm, tuner_abi::kAlgorithms)];
    answers.nccl_protocol = tuner_abi::kProtocols[ParseChoice(
        "--nccl-protocol", texts.nccl_protocol, tuner_abi::kProtocols)];
  }
  return answers;
}

std::vector<Import> ReadFiles(const Texts& texts) {
  ImportAnswers answers = ReadAnswers(texts);
  const Lists lists = ReadLists(texts);
  std::vector<Import> imports;
  for (const std::string& file : texts.files) {
    ImportedLog log = ReadLog(file);
    for (const std::string& note : log.notes) fmt::print("note: {}\n", note);
    imports.reserve(imports.size() + log.tables.size());
    for (ImportedTable& table : log.tables) imports.push_back({.table = std::move(table)});
  }
  CheckCount("--library", texts.library, lists.libraries.size(), imports.size());
  CheckCount("--ranks", texts.ranks, lists.ranks.size(), imports.size());
  for (std::size_t i = 0; i < imports.size(); ++i) {
    if (!lists.libraries.empty()) {
      answers.library = lists.libraries[lists.libraries.size() == 1 ? 0 : i];
    }
    if (!lists.ranks.empty()) answers.ranks = lists.ranks[lists.ranks.size() == 1 ? 0 : i];
    imports[i].rows = CompleteRows(imports[i].table, answers);
  }
  return imports;
}

// Names the folders of --out, before any is made.
void ChooseFolders(const std::string& out, std::vector<Import>& imports) {
  if (out.empty()) return;
  const std::size_t end = out.find_last_not_of('/');
  const std::string base = end == out.npos ? out : out.substr(0, end + 1);
  for (std::size_t i = 0; i < imports.size(); ++i) {
    imports[i].folder = imports.size() == 1 ? base : fmt::format("{}-{}", base, i + 1);
    const fs::path& folder = imports[i].folder;
    if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder))) {
      FailOption("--out", out, fmt::format("no such folder yet; {} exists", folder.string()));
    }
  }
}

// Whether the times are medians, too.
bool HasMedians(const ImportedTable& table) {
  return std::find(table.parameters.begin(), table.parameters.end(), "statistic=mean") ==
         table.parameters.end();
}

nlohmann::ordered_json RunJson(const Import& import, const Launch& launch) {
  const ImportedTable& table = import.table;
  nlohmann::ordered_json source = {{"file", table.file},
                                   {"line", table.line},
                                   {"format", table.format},
                                   {"version", nullptr},
                                   {"benchmark", nullptr},
                                   {"collective", Name(table.collectives[0])},
                                   {"ranks", *table.ranks},
                                   {"ranks_from", table.ranks_from},
                                   {"library", nullptr},
                                   {"statistic", HasMedians(table) ? "median" : "mean"},
                                   {"average_busbw_GBps", nullptr},
                                   {"notes", table.notes}};
  if (!table.version.empty()) source["version"] = table.version;
  if (!table.benchmark.empty()) source["benchmark"] = table.benchmark;
  if (!table.library.empty()) source["library"] = table.library;
  if (table.average_busbw) source["average_busbw_GBps"] = *table.average_busbw;
  return {{"start_utc", UtcText(std::chrono::system_clock::now())},
          {"command_line", launch.arguments()},
          {"versions", {{"hockney", ReadBuild().version}}},
          {"rank_source", table.format},
          {"rank_count", *table.ranks},
          {"command", "import"},
          {"import", std::move(source)},
          {"outcome", "finished"},
          {"exit_code", 0}};
}

void Write(const Import& import, const Launch& launch) {
  const ImportedTable& table = import.table;
  RunFolder folder = RunFolder::Create(
      import.folder,
      {{"hockney", "import"}, {"format", table.format}, {"ranks", std::to_string(*table.ranks)}});
  folder.WriteRun(RunJson(import, launch));
  for (const SweepRow& row : import.rows) folder.AppendSweep(row, {});
  const std::vector<LinkRow> links = LinkRowsOf(import.rows);
  if (!links.empty()) folder.AppendLinks(links);
}

// "32 rows (64 with both placements)", as the log counts and as sweep.csv does.
std::string RowsText(const Import& import) {
  const std::size_t lines = import.table.lines;
  if (lines == import.rows.size()) return fmt::format("{} {}", lines, lines == 1 ? "row" : "rows");
  return fmt::format("{} rows ({} with both placements)", lines, import.rows.size());
}

int Run(const Texts& texts, const Launch& launch) {
  std::vector<Import> imports = ReadFiles(texts);
  ChooseFolders(texts.out, imports);
  for (Import& import : imports) {
    if (texts.out.empty()) {
      import.folder = DefaultRunPath("import", std::chrono::system_clock::now());
    }
    Write(import, launch);
    const ImportedTable& table = import.table;
    for (const std::string& note : table.notes) fmt::print("note: {}\n", note);
    fmt::print("{}: {}, {} ranks, {}: {}\n", table.format, Name(table.collectives[0]), *table.ranks,
               RowsText(import), import.folder.string());
  }
  return ToInt(ExitCode::kOk);
}

Runner AddImport(CLI::App& program) {
  const auto texts = std::make_shared<Texts>();
  CLI::App& command = *program.add_subcommand(
      "import", "Turn logs of other benchmarks into run folders for fit, tune and compare");
  command
      .add_option("files", texts->files,
                  "Logs of nccl-tests (text or JSON), rccl-tests, OSU micro-benchmarks, Intel MPI "
                  "Benchmarks or ucx_perftest")
      ->required();
  command.add_option("--ranks", texts->ranks,
                     "Ranks, where a log does not say; one number, or one a table, as 2,4");
  command.add_option("--library", texts->library,
                     "Library that ran, where a log does not say, as \"Open MPI 4.1.4\"; one name, "
                     "or one a table between commas");
  command.add_option("--dtype", texts->type, "Type of the data, where a log does not say");
  command.add_option("--nodes", texts->nodes,
                     "Hosts that the ranks ran on; default: as the log says");
  command.add_option("--collective", texts->collective,
                     "Collective, where a table of nccl-tests leaves it open");
  command.add_option("--size", texts->size,
                     "Bytes of a message, of ucx_perftest without a batch file");
  command.add_option("--nccl-algorithm", texts->nccl_algorithm,
                     "What NCCL_ALGO was, of logs of NCCL: rules for NCCL can be made of these");
  command.add_option("--nccl-protocol", texts->nccl_protocol, "What NCCL_PROTO was");
  command.add_option("--out", texts->out,
                     "The folder to make; several tables become FOLDER-1, FOLDER-2, ... Default: "
                     "hockney-runs/<UTC>_import");
  command.footer(
      "Each table becomes a run folder of its own. What a log says counts more than an option.\n"
      "Example: hockney import osu_allreduce.log --ranks 4 --library \"Open MPI 4.1.4\" --out "
      "results/osu");
  return [texts](const Launch& launch) {
    return launch.rank() == 0 ? Run(*texts, launch) : ToInt(ExitCode::kOk);
  };
}

}  // namespace

Command ImportCommand() { return {.name = "import", .add = AddImport}; }

}  // namespace hockney
