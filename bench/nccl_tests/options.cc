#include "bench/nccl_tests/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <string_view>

#include "bench/launch.h"
#include "bench/nccl_tests/exit_code.h"
#include "bench/nccl_tests/flags.h"
#include "bench/nccl_tests/names.h"
#include "bench/options.h"
#include "bench/sizes.h"
#include "collectives/algorithms.h"
#include "collectives/levels.h"

namespace hockney {
namespace {

int ParseInt(std::string_view option, const std::string& text, int least,
             int most = std::numeric_limits<int>::max()) {
  const std::uint64_t value = ParseCount(option, text, static_cast<std::uint64_t>(least));
  if (value > static_cast<std::uint64_t>(most)) {
    FailOption(option, text, fmt::format("a whole number from {} to {}", least, most));
  }
  return static_cast<int>(value);
}

std::optional<int> ParseRanks(std::string_view option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return ParseInt(option, text, 1, kMostLocalRanks);
}

// -1 and all are every rank in turn; nccl-tests' README says all, its code only -1.
int ParseRoot(const std::string& text) {
  constexpr std::string_view kOption = "--root (-r)";
  if (text == "all" || text == "-1") return -1;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  if (!digits) FailOption(kOption, text, "a rank from 0, or -1 or all for every rank in turn");
  return ParseInt(kOption, text, 0);
}

void ReadRanks(const NcclTestsTexts& texts, NcclTestsOptions& options) {
  options.threads = ParseInt("--nthreads (-t)", texts.threads, 1, kMostLocalRanks);
  options.gpus = ParseInt("--ngpus (-g)", texts.gpus, 1, kMostLocalRanks);
  options.local = ParseRanks("--local", texts.local);
  options.local_processes = ParseRanks("--local-processes", texts.local_processes);
  if (!texts.expect_ranks.empty()) {
    options.expect_ranks = ParseInt("--expect-ranks", texts.expect_ranks, 1);
  }
  if (options.threads * options.gpus > kMostLocalRanks) {
    FailOption(
        "--ngpus (-g)", texts.gpus,
        fmt::format("at most {} ranks a process with -t {}", kMostLocalRanks, texts.threads));
  }
  if (!options.local) return;
  if (options.threads * options.gpus > 1) {
    FailOption("--local", texts.local, "no --nthreads (-t) and --ngpus (-g) beside it");
  }
  if (options.local_processes) FailOption("--local", texts.local, "no --local-processes beside it");
}

void ReadSizes(const NcclTestsTexts& texts, NcclTestsOptions& options) {
  options.factor = ParseCount("--stepfactor (-f)", texts.factor, 1);
  if (options.factor > 1 && !texts.increment.empty()) {
    FailOption("--stepfactor (-f)", texts.factor, "1 or no factor beside --stepbytes (-i)");
  }
  try {
    options.begin_bytes = ParseSize("--minbytes (-b)", texts.begin);
    options.end_bytes = ParseSize("--maxbytes (-e)", texts.end);
    if (!texts.increment.empty()) {
      options.increment_bytes = ParseSize("--stepbytes (-i)", texts.increment);
    }
    std::optional<std::uint64_t> increment;
    if (options.factor == 1) increment = options.increment_bytes;
    options.sizes = SizeList(options.begin_bytes, options.end_bytes, options.factor, increment);
  } catch (const UsageError& error) {
    throw BadSizesError(error.what());
  }
}

void ReadWhat(const NcclTestsTexts& texts, NcclTestsOptions& options) {
  constexpr std::string_view kOp = "--op (-o)";
  if (texts.ops == "mulsum") {
    FailOption(kOp, texts.ops,
               "sum, prod, min, max, avg or all; GPU only: NCCL's sum with a scale for each rank");
  }
  options.ops = texts.ops == "all" ? NcclTestsOps() : ParseReduceOps(kOp, texts.ops);
  options.types =
      texts.types == "all" ? NcclTestsTypes() : ParseDataTypes("--datatype (-d)", texts.types);
  options.root = ParseRoot(texts.root);
  options.unalign = ParseInt("--unalign (-u)", texts.unalign, 0);
}

void ReadMeasurement(const NcclTestsTexts& texts, NcclTestsOptions& options) {
  options.iterations = ParseInt("--iters (-n)", texts.iterations, 1);
  options.warmups = ParseInt("--warmup_iters (-w)", texts.warmups, 0);
  options.aggregated = ParseInt("--agg_iters (-m)", texts.aggregated, 1);
  options.cycles = ParseInt("--run_cycles (-N)", texts.cycles, 0);
  options.checks = ParseInt("--check (-c)", texts.checks, 0);
  options.blocking = static_cast<Blocking>(ParseInt("--blocking (-z)", texts.blocking, 0, 3));
  options.average = static_cast<RankAverage>(ParseInt("--average (-a)", texts.average, 0, 3));
  if (texts.timeout != "0") {
    options.timeout_seconds = ParseDuration("--timeout (-T)", texts.timeout, BareNumber::kSeconds);
  }
  options.seed = ParseCount("--seed", texts.seed);
  options.per_iteration = ParseInt("--per_iter_timing (-I)", texts.per_iteration, 0, 1) == 1;
  constexpr std::string_view kSkip = "--per_iter_skip (-K)";
  options.per_iteration_skip = ParseInt(kSkip, texts.per_iteration_skip, 0);
  if (options.per_iteration_skip > 0 && !options.per_iteration) {
    FailOption(kSkip, texts.per_iteration_skip, "--per_iter_timing (-I) 1 beside it");
  }
  if (options.per_iteration_skip >= options.iterations) {
    FailOption(kSkip, texts.per_iteration_skip,
               fmt::format("less than --iters (-n), {}", options.iterations));
  }
}

void ReadOutput(const NcclTestsTexts& texts, NcclTestsOptions& options) {
  options.timestamps = ParseInt("--report_timestamps (-S)", texts.timestamps, 0, 1) == 1;
  options.json_path = texts.json;
  options.out = texts.out;
  if (texts.json.empty()) return;
  std::string suffix = std::filesystem::path(texts.json).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (suffix != ".json") FailOption("--output_file (-J)", texts.json, "a name that ends in .json");
}

void ReadImplementation(Collective collective, const NcclTestsTexts& texts,
                        NcclTestsOptions& options) {
  options.implementation = texts.implementation;
  if (texts.implementation != "hockney" && texts.implementation != "mpi") {
    FailOption("--implementation", texts.implementation, "hockney or mpi");
  }
  options.algorithm = texts.algorithm;
  if (texts.algorithm.empty()) return;
  if (texts.implementation == "mpi") {
    FailOption("--algorithm", texts.algorithm, "--implementation hockney beside it");
  }
  if (HasLevels(texts.algorithm)) {
    CheckLevels("--algorithm", texts.algorithm, collective);
    return;
  }
  if (FindAlgorithm(collective, texts.algorithm) != nullptr) return;
  std::string accepted = fmt::format("an algorithm of {}:", Name(collective));
  for (const Algorithm& row : AllAlgorithms()) {
    if (row.collective == collective) accepted += fmt::format(" {}", row.name);
  }
  FailOption("--algorithm", texts.algorithm, accepted);
}

}  // namespace

int RankThreads(const NcclTestsOptions& options) {
  return options.local.value_or(options.threads * options.gpus);
}

NcclTestsOptions ParseNcclTestsOptions(Collective collective, std::span<const std::string> words) {
  NcclTestsOptions options;
  const std::optional<NcclTestsTexts> texts = SplitNcclTestsCommandLine(words);
  options.help = !texts;
  if (options.help) return options;
  ReadRanks(*texts, options);
  ReadSizes(*texts, options);
  ReadWhat(*texts, options);
  ReadMeasurement(*texts, options);
  ReadOutput(*texts, options);
  ReadImplementation(collective, *texts, options);
  return options;
}

}  // namespace hockney
