#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "bench/commands.h"
#include "bench/earlier_launches.h"
#include "bench/groups/split_rule.h"
#include "bench/launch.h"
#include "bench/launches.h"
#include "bench/nccl_tests/reporter.h"
#include "bench/options.h"
#include "bench/series_report.h"
#include "bench/sizes.h"
#include "bench/sweep.h"
#include "bench/sweep_texts.h"
#include "bench/text_reporter.h"
#include "bench/topology_options.h"
#include "bench/tuned_choices.h"
#include "collectives/algorithms.h"
#include "collectives/baselines/mpi/mpi_algorithms.h"
#include "collectives/baselines/mpi/mpi_baseline.h"
#include "collectives/flow.h"
#include "collectives/levels.h"
#include "topology/launcher.h"
#include "tuner/records.h"

namespace hockney {
namespace {

std::optional<std::uint64_t> OptionalCount(const char* option, const std::string& text,
                                           std::uint64_t least) {
  if (text.empty()) return std::nullopt;
  return ParseCount(option, text, least);
}

// "all" or -1 is every rank in turn.
int ParseRoot(const std::string& text) {
  if (text == "all" || text == "-1") return -1;
  int root = 0;
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), last, root);
  if (error != std::errc() || stop != last || root < 0) {
    FailOption("--root (-r)", text, "a rank from 0, or all or -1 for every rank in turn");
  }
  return root;
}

void ReadSizes(const SweepTexts& texts, SweepOptions& options) {
  options.count = OptionalCount("--count", texts.count, 0);
  std::optional<std::uint64_t> increment;
  if (!texts.increment.empty()) increment = ParseSize("--stepbytes (-i)", texts.increment);
  options.sizes =
      SizeList(ParseSize("--minbytes (-b)", texts.begin), ParseSize("--maxbytes (-e)", texts.end),
               OptionalCount("--stepfactor (-f)", texts.factor, 0), increment);
}

void ReadVariants(const SweepTexts& texts, SweepOptions& options) {
  if (texts.algorithms != "all") {
    std::vector<std::string_view> names;
    for (const Algorithm& row : AllAlgorithms()) {
      if (std::find(names.begin(), names.end(), row.name) == names.end()) names.push_back(row.name);
    }
    options.algorithms = ParseAlgorithms("--algorithm", texts.algorithms, names);
  }
  constexpr std::string_view kProtocols[] = {"simple", "ll"};
  if (texts.protocols != "auto") {
    for (const std::string& name : ParseNames("--protocol", texts.protocols, kProtocols)) {
      options.protocols.push_back(name == "ll" ? Protocol::kLl : Protocol::kSimple);
    }
  }
  constexpr std::string_view kStores[] = {"cached", "non_temporal"};
  if (texts.stores != "auto") {
    for (const std::string& name : ParseNames("--store", texts.stores, kStores)) {
      options.stores.push_back(name == "cached" ? StorePolicy::kCached : StorePolicy::kNonTemporal);
    }
  }
  if (!texts.lanes.empty()) options.lanes = ParseInts("--lanes", texts.lanes, 16);
  options.slices = ParseInts("--slices", texts.slices, FlowLimits{}.slots - 1);
}

// After ReadDeviceTexts.
void ReadImplementations(const SweepTexts& texts, SweepOptions& options) {
  const bool on_devices = options.memory == MemoryKind::kCuda;
  if (texts.implementations == "auto") {
    options.implementations = {"hockney", on_devices ? "nccl" : "mpi"};
    return;
  }
  constexpr std::string_view kImplementations[] = {"hockney", "mpi", "nccl"};
  options.implementations = ParseNames("--implementation", texts.implementations, kImplementations);
  const auto& names = options.implementations;
  if (!on_devices && std::find(names.begin(), names.end(), "nccl") != names.end()) {
    FailOption("--implementation", texts.implementations,
               "--memory cuda beside nccl, which works on memory of GPUs only");
  }
}

void ReadMeasurement(const SweepTexts& texts, SweepOptions& options) {
  constexpr std::string_view kModes[] = {"isolated", "streamed"};
  options.mode = static_cast<TimingMode>(ParseChoice("--mode", texts.mode, kModes));
  constexpr std::string_view kStates[] = {"refreshed", "hot", "cold"};
  options.buffers = static_cast<BufferState>(ParseChoice("--buffers", texts.buffers, kStates));
  options.clock = static_cast<ClockKind>(ParseChoice("--clock", texts.clock, kClockKinds));
  options.row_budget_seconds = ParseDuration("--row-budget", texts.row_budget);
  options.iterations = OptionalCount("--iters (-n)", texts.iterations, 1);
  options.warmups = OptionalCount("--warmup_iters (-w)", texts.warmups, 0);
  options.checks =
      static_cast<int>(std::min<std::uint64_t>(ParseCount("--check (-c)", texts.checks), 1000000));
  options.seed = ParseCount("--seed", texts.seed);
  if (!texts.llc.empty()) options.llc_bytes = ParseSize("--llc", texts.llc);
  options.out = texts.out;
  options.append = texts.append;
  if (options.append && options.out.empty()) {
    throw UsageError("--append: expected --out FOLDER, the folder to add this launch to");
  }
  options.dry_run = texts.dry_run;
  constexpr std::string_view kWhen[] = {"auto", "always", "never"};
  options.progress = kWhen[ParseChoice("--progress", texts.progress, kWhen)];
}

// Throws UsageError if the levels fit none of the collectives.
void CheckLevelsOfAny(const SweepOptions& options, const std::string& name) {
  const Levels levels = ParseLevels(name);
  const auto& collectives = options.collectives;
  const bool used = std::any_of(collectives.begin(), collectives.end(), [&](Collective c) {
    return WhyUnfit(c, levels, Protocol::kSimple).empty();
  });
  if (!used && !collectives.empty()) CheckLevels("--algorithm", name, collectives[0]);
}

// Throws UsageError if some collective has none of the algorithms that were named.
void CheckAlgorithms(const SweepOptions& options) {
  if (options.algorithms.empty()) return;
  for (const std::string& name : options.algorithms) {
    if (HasLevels(name)) {
      CheckLevelsOfAny(options, name);
      continue;
    }
    const bool used = std::any_of(
        options.collectives.begin(), options.collectives.end(),
        [&](Collective collective) { return FindAlgorithm(collective, name) != nullptr; });
    if (used || options.collectives.empty()) continue;
    std::string accepted = "an algorithm of " + std::string(Name(options.collectives[0])) + ":";
    for (const Algorithm& row : AllAlgorithms()) {
      if (row.collective == options.collectives[0]) accepted += " " + std::string(row.name);
    }
    FailOption("--algorithm", name, accepted);
  }
}

// After ReadImplementations.
void ReadMpiAlgorithms(const SweepTexts& texts, SweepOptions& options) {
  constexpr const char* kOption = "--mpi-algorithms";
  const std::string& text = texts.mpi_algorithms;
  if (text == "default") return;
  const auto& implementations = options.implementations;
  if (std::find(implementations.begin(), implementations.end(), "mpi") == implementations.end()) {
    FailOption(kOption, text, "mpi among --implementation");
  }
  if (text == kAllMpiAlgorithms) {
    options.mpi_algorithms = {kAllMpiAlgorithms};
    return;
  }
  std::vector<std::string_view> names = {"default"};  // which is timed in any case
  for (const MpiAlgorithm& algorithm : AllMpiAlgorithms()) {
    if (std::find(names.begin(), names.end(), algorithm.name) == names.end()) {
      names.push_back(algorithm.name);
    }
  }
  options.mpi_algorithms = ParseNames(kOption, text, names);
  std::erase(options.mpi_algorithms, "default");
  for (const std::string& name : options.mpi_algorithms) {
    std::string accepted;
    bool is_used = false;
    for (const MpiAlgorithm& algorithm : AllMpiAlgorithms()) {
      const auto& collectives = options.collectives;
      if (std::find(collectives.begin(), collectives.end(), algorithm.collective) ==
          collectives.end()) {
        continue;
      }
      is_used = is_used || algorithm.name == name;
      accepted += " " + std::string(algorithm.name);
    }
    if (!is_used)
      FailOption(kOption, name, "an algorithm of the collectives asked for:" + accepted);
  }
}

bool AnyOf(const SweepOptions& options, bool (*has)(Collective)) {
  return std::any_of(options.collectives.begin(), options.collectives.end(), has);
}

// Throws UsageError for an option that would change nothing.
void CheckUse(const CLI::App& app, const SweepTexts& texts, const SweepOptions& options) {
  for (const char* size : {"--minbytes", "--maxbytes", "--stepfactor", "--stepbytes"}) {
    if (options.count && app.count(size) > 0) {
      FailOption("--count", texts.count, std::string("no ") + size + " beside it");
    }
  }
  if (app.count("--op") > 0 && !AnyOf(options, [](Collective c) { return Reduces(c); })) {
    FailOption("--op (-o)", texts.ops, "a collective that reduces among those measured");
  }
  if (app.count("--root") > 0 && !AnyOf(options, [](Collective c) { return HasRoot(c); })) {
    FailOption("--root (-r)", texts.root, "a collective with a root among those measured");
  }
}

SweepOptions Read(const CLI::App& app, const SweepTexts& texts) {
  SweepOptions options;
  for (const std::string& text : texts.collectives) {
    for (const Collective c : ParseCollectives("collective", text)) {
      if (std::find(options.collectives.begin(), options.collectives.end(), c) ==
          options.collectives.end()) {
        options.collectives.push_back(c);
      }
    }
  }
  ReadSizes(texts, options);
  ReadVariants(texts, options);
  ReadMeasurement(texts, options);
  ReadDeviceTexts(app, texts.device, options);
  ReadImplementations(texts, options);
  ReadMpiAlgorithms(texts, options);
  options.types = ParseDataTypes("--datatype (-d)", texts.types);
  options.ops = ParseReduceOps("--op (-o)", texts.ops);
  options.roots = {ParseRoot(texts.root)};
  if (app.count("--split") > 0) CheckSplit("--split", texts.split);
  options.split = texts.split;
  options.tuned_file = texts.tuned;
  if (!texts.tuned.empty() && !texts.split.empty()) {
    FailOption("--tuned", texts.tuned, "no --split beside it: rules are of all ranks");
  }
  constexpr std::string_view kPlaces[] = {"out", "in", "both"};
  const bool as_nccl_tests = texts.format != "text";
  const std::string usual_place = as_nccl_tests ? "both" : "out";
  const int place =
      ParseChoice("--place", texts.place.empty() ? usual_place : texts.place, kPlaces);
  options.pairs_placements = as_nccl_tests && place == 2;
  if (place == 0) options.placements = {Placement::kApart};
  if (place == 1) options.placements = {Placement::kInPlace};
  if (place == 2) options.placements = {Placement::kApart, Placement::kInPlace};
  CheckAlgorithms(options);
  CheckUse(app, texts, options);
  options.timeout_seconds = texts.ranks.timeout_seconds;
  CheckTopologyOptions(texts.topology);
  options.topology = texts.topology;
  return options;
}

std::unique_ptr<Reporter> MakeReporter(const SweepTexts& texts, const SweepOptions& options,
                                       const Launch& launch) {
  constexpr std::string_view kFormats[] = {"text", "nccl-tests"};
  if (ParseChoice("--format", texts.format, kFormats) == 0) {
    return std::make_unique<TextReporter>(options);
  }
  if (options.memory == MemoryKind::kCuda) {
    FailOption("--format", texts.format, "text with --memory cuda: this table is of host memory");
  }
  if (options.collectives.size() != 1) {
    FailOption("--format", texts.format, "one collective with this format");
  }
  // The table itself does not tell its collective.
  NcclTestsRun run{.program = fmt::format("hockney sweep {}", Name(options.collectives[0])),
                   .collective = options.collectives[0]};
  run.options.sizes = options.sizes;
  run.options.begin_bytes = options.sizes.front();
  run.options.end_bytes = options.sizes.back();
  run.options.factor = ParseCount("--stepfactor (-f)", texts.factor.empty() ? "2" : texts.factor);
  run.options.iterations = static_cast<int>(options.iterations.value_or(0));
  run.options.warmups = static_cast<int>(options.warmups.value_or(0));
  run.options.checks = options.checks;
  return std::make_unique<NcclTestsReporter>(std::move(run), NcclTestsEnvironment{},
                                             launch.arguments(), TableTime::kOfRow);
}

// Runs the launches and tells what holds over all of them.
int RunSeries(const SweepTexts& texts, const SweepOptions& options, const Launch& launch) {
  constexpr std::uint64_t kMostLaunches = 10'000;
  const std::uint64_t count = ParseCount("--launches", texts.launches, 1);
  if (count > kMostLaunches) FailOption("--launches", texts.launches, "at most 10000");
  if (UnderLauncher()) {
    FailOption("--launches", texts.launches,
               "no launcher around it: it starts launches itself, as --launcher \"mpirun -n 2\" "
               "says");
  }
  if (options.dry_run) FailOption("--launches", texts.launches, "no --dry-run beside it");
  LaunchesOptions series{.count = static_cast<int>(count),
                         .launcher = texts.launcher,
                         .out = options.out,
                         .seed = options.seed};
  if (series.out.empty()) series.out = DefaultRunPath("sweep", std::chrono::system_clock::now());
  if (!options.append && std::filesystem::exists(series.out)) {
    FailOption("--out", options.out, "a new folder, or --append to add the launches to it");
  }
  series.seed += CountLaunches(series.out);  // no order twice in a folder
  const int code = RunLaunches(series, launch.arguments());
  if (code == 0) {
    fmt::print("{}\nrun folder: {}\n", SeriesReport(ReadSweep(series.out)), series.out.string());
  }
  return code;
}

Runner AddSweep(CLI::App& program) {
  auto texts = std::make_shared<SweepTexts>();
  CLI::App* app = program.add_subcommand(
      "sweep", "Measure collectives and algorithms over sizes, beside MPI, with checked data");
  AddSweepTexts(*app, texts.get());
  app->footer("Example: mpirun -n 2 hockney sweep all_reduce -b 8 -e 64M -f 4 --row-budget 100ms");
  return [texts, app](Launch& launch) {
    const SweepOptions options = Read(*app, *texts);
    if (!texts->launches.empty()) return RunSeries(*texts, options, launch);
    if (!texts->launcher.empty()) {
      FailOption("--launcher", texts->launcher, "--launches K beside it");
    }
    const auto reporter = MakeReporter(*texts, options, launch);
    if (!options.mpi_algorithms.empty()) MpiBaseline::AllowAlgorithms();
    texts->ranks.on_devices = options.memory == MemoryKind::kCuda;
    return launch.RunRanks(texts->ranks, [&](Session& session) {
      SweepOptions mine = options;
      if (!mine.tuned_file.empty()) mine.tuned = ShareTuning(session, mine.tuned_file);
      return RunSweep(session, mine, launch, *reporter);
    });
  };
}

}  // namespace

Command SweepCommand() { return {.name = "sweep", .add = AddSweep}; }

}  // namespace hockney
