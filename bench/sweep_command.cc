#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bench/commands.h"
#include "bench/launch.h"
#include "bench/options.h"
#include "bench/signals.h"
#include "bench/sizes.h"
#include "bench/sweep.h"
#include "collectives/algorithms.h"
#include "collectives/flow.h"

namespace hockney {
namespace {

// The options as text; Read turns them into SweepOptions.
struct Texts {
  std::vector<std::string> collectives;
  std::string begin = "8";
  std::string end = "64M";
  std::string factor;
  std::string increment;
  std::string count;
  std::string types = "float32";
  std::string ops = "sum";
  std::string root = "0";
  std::string place = "out";
  std::string algorithms = "all";
  std::string implementations = "hockney,mpi";
  std::string protocols = "auto";
  std::string stores = "auto";
  std::string lanes = "1";
  std::string slices = "2";
  std::string mode = "isolated";
  std::string buffers = "refreshed";
  std::string row_budget = "500ms";
  std::string iterations;
  std::string warmups;
  std::string checks = "1";
  std::string seed = "1";
  std::string llc;
  std::string out;
  bool append = false;
  bool dry_run = false;
  std::string progress = "auto";
  RankOptions ranks;
};

std::optional<std::uint64_t> OptionalCount(const char* option, const std::string& text,
                                           std::uint64_t least) {
  if (text.empty()) return std::nullopt;
  return ParseCount(option, text, least);
}

// Whole numbers of 1 to `most`, comma-separated.
std::vector<int> ParseInts(const char* option, const std::string& text, std::uint64_t most) {
  std::vector<int> values;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::uint64_t value = ParseCount(option, text.substr(at, end - at), 1);
    if (value > most) FailOption(option, text, "numbers of 1 to " + std::to_string(most));
    values.push_back(static_cast<int>(value));
    at = end + 1;
  }
  return values;
}

// Returns the index of `text` among the names.
template <std::size_t n>
int ParseChoice(const char* option, const std::string& text, const std::string_view (&names)[n]) {
  const std::vector<std::string> chosen = ParseNames(option, text, names);
  if (chosen.size() != 1) FailOption(option, text, "one name");
  return static_cast<int>(std::find(names, names + n, chosen[0]) - names);
}

void ReadSizes(const Texts& texts, SweepOptions& options) {
  options.count = OptionalCount("--count", texts.count, 0);
  std::optional<std::uint64_t> increment;
  if (!texts.increment.empty()) increment = ParseSize("--stepbytes (-i)", texts.increment);
  options.sizes =
      SizeList(ParseSize("--minbytes (-b)", texts.begin), ParseSize("--maxbytes (-e)", texts.end),
               OptionalCount("--stepfactor (-f)", texts.factor, 0), increment);
}

void ReadVariants(const Texts& texts, SweepOptions& options) {
  if (texts.algorithms != "all") {
    std::vector<std::string_view> names;
    for (const Algorithm& row : AllAlgorithms()) {
      if (std::find(names.begin(), names.end(), row.name) == names.end()) names.push_back(row.name);
    }
    options.algorithms = ParseNames("--algorithm", texts.algorithms, names);
  }
  constexpr std::string_view kImplementations[] = {"hockney", "mpi"};
  options.implementations = ParseNames("--implementation", texts.implementations, kImplementations);
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
  options.lanes = ParseInts("--lanes", texts.lanes, 16);
  options.slices = ParseInts("--slices", texts.slices, FlowLimits{}.slots - 1);
}

void ReadMeasurement(const Texts& texts, SweepOptions& options) {
  constexpr std::string_view kModes[] = {"isolated", "streamed"};
  options.mode = static_cast<TimingMode>(ParseChoice("--mode", texts.mode, kModes));
  constexpr std::string_view kStates[] = {"refreshed", "hot", "cold"};
  options.buffers = static_cast<BufferState>(ParseChoice("--buffers", texts.buffers, kStates));
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

SweepOptions Read(const Texts& texts) {
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
  options.types = ParseDataTypes("--datatype (-d)", texts.types);
  options.ops = ParseReduceOps("--op (-o)", texts.ops);
  options.roots = {texts.root == "all" || texts.root == "-1"
                       ? -1
                       : static_cast<int>(ParseCount("--root (-r)", texts.root))};
  constexpr std::string_view kPlaces[] = {"out", "in"};
  options.placements.clear();
  if (texts.place == "both") {
    options.placements = {Placement::kApart, Placement::kInPlace};
  } else {
    options.placements = {static_cast<Placement>(ParseChoice("--place", texts.place, kPlaces))};
  }
  options.timeout_seconds = texts.ranks.timeout_seconds;
  return options;
}

void AddWhat(CLI::App& app, Texts& texts) {
  app.add_option("collectives", texts.collectives,
                 "Collectives to measure, or all (see hockney list collectives)")
      ->required();
  app.add_option("-b,--minbytes", texts.begin, "Smallest size; suffixes K, M, G, T are binary")
      ->capture_default_str();
  app.add_option("-e,--maxbytes", texts.end, "Largest size")->capture_default_str();
  app.add_option("-f,--stepfactor", texts.factor, "Factor between sizes (default 2)");
  app.add_option("-i,--stepbytes", texts.increment, "Fixed increment between sizes instead");
  app.add_option("--count", texts.count, "Elements a rank instead of sizes");
  app.add_option("-d,--datatype", texts.types, "Types, comma-separated, or all")
      ->capture_default_str();
  app.add_option("-o,--op", texts.ops, "Operators: sum, prod, min, max, avg, or all")
      ->capture_default_str();
  app.add_option("-r,--root", texts.root, "Root rank; all or -1: every rank in turn")
      ->capture_default_str();
  app.add_option("--place", texts.place,
                 "Buffers apart (out), at NCCL's in-place offsets (in), both")
      ->capture_default_str();
  app.add_option("--algorithm", texts.algorithms, "Algorithms (see hockney list algorithms)")
      ->capture_default_str();
  app.add_option("--implementation", texts.implementations, "hockney, mpi")->capture_default_str();
  app.add_option("--protocol", texts.protocols, "simple, ll; auto: simple, and ll up to 1K")
      ->capture_default_str();
  app.add_option("--store", texts.stores,
                 "cached, non_temporal; auto: cached, and both for peer shapes from 4K a rank")
      ->capture_default_str();
  app.add_option("--lanes", texts.lanes, "Data lanes, comma-separated")->capture_default_str();
  app.add_option("--slices", texts.slices, "Slices a chunk, 1 to 7, comma-separated")
      ->capture_default_str();
}

void AddHow(CLI::App& app, Texts& texts) {
  app.add_option("--mode", texts.mode,
                 "isolated: one call between barriers, last exit - first entry; streamed: "
                 "back-to-back calls over rotating buffers, as nccl-tests")
      ->capture_default_str();
  app.add_option("--buffers", texts.buffers,
                 "refreshed: rewritten and read before each sample; hot; cold")
      ->capture_default_str();
  app.add_option("--row-budget", texts.row_budget, "Time a row may take")->capture_default_str();
  app.add_option("-n,--iters", texts.iterations, "Exact number of samples; no stopping rule");
  app.add_option("-w,--warmup_iters", texts.warmups, "Exact number of warm-up samples");
  app.add_option("-c,--check", texts.checks, "Data checks a row, 0 for none")
      ->capture_default_str();
  app.add_option("--seed", texts.seed, "Seed of orders and data")->capture_default_str();
  app.add_option("--llc", texts.llc, "Bytes of the last-level cache, where the machine hides it");
  app.add_option("--out", texts.out, "Run folder (default hockney-runs/<UTC>_sweep)");
  app.add_flag("--append", texts.append, "Add this launch to the folder --out names");
  app.add_flag("--dry-run", texts.dry_run, "Print what would be measured and end");
  app.add_option("--progress", texts.progress, "auto, always, never")->capture_default_str();
  AddRankOptions(app, &texts.ranks);
}

Runner AddSweep(CLI::App& program) {
  auto texts = std::make_shared<Texts>();
  CLI::App* app = program.add_subcommand(
      "sweep", "Measure collectives and algorithms over sizes, beside MPI, with checked data");
  AddWhat(*app, *texts);
  AddHow(*app, *texts);
  app->footer("Example: mpirun -n 2 hockney sweep all_reduce -b 8 -e 64M -f 4 --row-budget 100ms");
  return [texts](Launch& launch) {
    const SweepOptions options = Read(*texts);
    const InterruptGuard guard;
    return launch.RunRanks(texts->ranks,
                           [&](Session& session) { return RunSweep(session, options, launch); });
  };
}

}  // namespace

Command SweepCommand() { return {.name = "sweep", .add = AddSweep}; }

}  // namespace hockney
