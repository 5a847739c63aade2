#include "bench/nccl_tests/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string_view>
#include <vector>

#include "bench/nccl_tests/names.h"
#include "bench/options.h"

namespace hockney {
namespace {

struct Flag {
  const char* names;
  std::string NcclTestsTexts::*text;
  const char* help;
};

constexpr Flag kNcclTestsFlags[] = {
    {"-t,--nthreads", &NcclTestsTexts::threads, "Threads a process"},
    {"-g,--ngpus", &NcclTestsTexts::gpus,
     "Ranks a thread: ranks = processes x -t x -g, each a thread here"},
    {"-b,--minbytes", &NcclTestsTexts::begin, "Smallest size; suffixes K, M, G, T are binary"},
    {"-e,--maxbytes", &NcclTestsTexts::end, "Largest size"},
    {"-i,--stepbytes", &NcclTestsTexts::increment, "Increment between sizes (1M without -f)"},
    {"-f,--stepfactor", &NcclTestsTexts::factor, "Factor between sizes instead; 1: none"},
    {"-n,--iters", &NcclTestsTexts::iterations, "Timed iterations"},
    {"-w,--warmup_iters", &NcclTestsTexts::warmups, "Iterations before them"},
    {"-m,--agg_iters", &NcclTestsTexts::aggregated, "Calls an iteration"},
    {"-N,--run_cycles", &NcclTestsTexts::cycles, "Times all sizes are run; 0: until stopped"},
    {"-c,--check", &NcclTestsTexts::checks, "Data checks a row; 0: none, #wrong is N/A"},
    {"-o,--op", &NcclTestsTexts::ops, "sum, prod, min, max, avg or all"},
    {"-d,--datatype", &NcclTestsTexts::types,
     "int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, f8e4m3, f8e5m2 or "
     "all"},
    {"-r,--root", &NcclTestsTexts::root, "Root rank; -1 or all: every rank in turn"},
    {"-z,--blocking", &NcclTestsTexts::blocking,
     "0: calls follow each other; 1: wait for each call, then a barrier; 2: wait, no barrier; 3: "
     "wait and barrier after each iteration, the barrier not timed"},
    {"-T,--timeout", &NcclTestsTexts::timeout, "Longest wait in seconds; 0: none asked for"},
    {"-S,--report_timestamps", &NcclTestsTexts::timestamps, "1: the local time ends each row"},
    {"-J,--output_file", &NcclTestsTexts::json, "Also write FILE.json (schema version 3)"},
    {"-a,--average", &NcclTestsTexts::average,
     "Time over ranks: 0 of rank 0, 1 mean, 2 least, 3 greatest"},
    {"-u,--unalign", &NcclTestsTexts::unalign, "Elements by which buffers are shifted"},
    {"-I,--per_iter_timing", &NcclTestsTexts::per_iteration,
     "1: least, greatest, p99 and cv% of the iterations; best with -z 0, 2 or 3, because -z 1 has "
     "the barrier in them; p99 is the greatest below 100 iterations"},
    {"-K,--per_iter_skip", &NcclTestsTexts::per_iteration_skip,
     "Iterations that these leave out at the start"},
};

constexpr Flag kOwnFlags[] = {
    {"--algorithm", &NcclTestsTexts::algorithm,
     "Algorithm (see hockney list algorithms); default: hockney's choice of each size"},
    {"--implementation", &NcclTestsTexts::implementation, "hockney or mpi"},
    {"--local", &NcclTestsTexts::local, "Ranks as threads of one process, instead of -t and -g"},
    {"--local-processes", &NcclTestsTexts::local_processes,
     "Processes to start on this host, without a launcher"},
    {"--out", &NcclTestsTexts::out, "Also write a run folder"},
    {"--expect-ranks", &NcclTestsTexts::expect_ranks, "Fail unless the run has so many ranks"},
    {"--seed", &NcclTestsTexts::seed, "Seed of the data"},
};

// An option of nccl-tests that means something only with buffers on a GPU.
struct GpuFlag {
  const char* names;
  const char* label;
  const char* neutral;  // the value that asks for nothing; empty: there is none
  const char* subject;
};
constexpr GpuFlag kGpuFlags[] = {
    {"-p,--parallel_init", "--parallel_init (-p)", "0", "NCCL communicators made by threads"},
    {"-y,--stream_null", "--stream_null (-y)", "0", "CUDA's NULL stream"},
    {"-G,--cudagraph", "--cudagraph (-G)", "0", "CUDA graphs"},
    {"-C,--report_cputime", "--report_cputime (-C)", "0",
     "the CPU's share of a call; on the host that is all of it"},
    {"-R,--local_register", "--local_register (-R)", "0", "buffers registered with NCCL"},
    {"-x,--cta_policy", "--cta_policy (-x)", "", "NCCL's CTA policy"},
    {"-D,--device_implementation", "--device_implementation (-D)", "0", "NCCL's device API"},
    {"-V,--device_cta_count", "--device_cta_count (-V)", "", "CTAs of NCCL's device API"},
    {"-M,--memory", "--memory (-M)", "0", "a report of GPU memory"},
};
using GpuTexts = std::array<std::string, std::size(kGpuFlags)>;

void AddFlags(CLI::App& app, std::span<const Flag> flags, const char* group,
              NcclTestsTexts* texts) {
  for (const Flag& flag : flags) {
    app.add_option(flag.names, texts->*flag.text, flag.help)
        ->capture_default_str()
        ->take_last()
        ->group(group);
  }
}

// The texts outlive the parse.
void AddAllFlags(CLI::App& app, NcclTestsTexts* texts, GpuTexts* gpu_texts) {
  AddFlags(app, kNcclTestsFlags, "nccl-tests", texts);
  for (std::size_t i = 0; i < gpu_texts->size(); ++i) {
    const std::string neutral = kGpuFlags[i].neutral;
    app.add_option(kGpuFlags[i].names, (*gpu_texts)[i],
                   fmt::format("{}; {}", kGpuFlags[i].subject,
                               neutral.empty() ? "refused" : "only " + neutral + " is accepted"))
        ->take_last()
        ->group("nccl-tests, GPU only");
  }
  AddFlags(app, kOwnFlags, "hockney", texts);
  app.set_help_flag("-h,--help", "Print this and end");
}

// Throws for the first word that no option took.
void RefuseUnknown(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) return;
  std::vector<std::string> storage;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) storage.push_back("--" + name);
  }
  const std::vector<std::string_view> known(storage.begin(), storage.end());
  const std::string_view word = unknown[0];
  const auto close = Suggest(word.substr(0, word.find('=')), known);
  throw UsageError(fmt::format("\"{}\": unknown {}{}; {} --help lists what is accepted", word,
                               word.starts_with('-') ? "option" : "argument",
                               close ? fmt::format(", did you mean \"{}\"", *close) : "",
                               app.get_name()));
}

// An empty value (-J "$UNSET") must not read as an option that was not given.
void RefuseEmpty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0 && option->results().back().empty()) {
      FailOption(option->get_name(false, true), "", "a value");
    }
  }
}

void RefuseGpuFlags(const GpuTexts& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const GpuFlag& flag = kGpuFlags[i];
    const std::string_view neutral = flag.neutral;
    if (texts[i].empty() || (!neutral.empty() && texts[i] == neutral)) continue;
    FailOption(flag.label, texts[i],
               fmt::format("{}; GPU only: {}", neutral.empty() ? "no such option" : neutral,
                           flag.subject));
  }
}

}  // namespace

std::optional<NcclTestsTexts> SplitNcclTestsCommandLine(std::span<const std::string> words) {
  NcclTestsTexts texts;
  GpuTexts gpu_texts;
  CLI::App app("", words.empty() ? "" : std::string(BaseName(words[0])));
  AddAllFlags(app, &texts, &gpu_texts);
  app.allow_extras();
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  if (!reversed.empty()) reversed.pop_back();  // the program; CLI11 takes the others last first
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    RefuseUnknown(app);  // a misspelt option explains the rest
    throw UsageError(error.what());
  }
  RefuseUnknown(app);
  RefuseEmpty(app);
  RefuseGpuFlags(gpu_texts);
  return texts;
}

std::string NcclTestsHelp(const std::string& program) {
  const std::string name(BaseName(program));
  NcclTestsTexts texts;
  GpuTexts gpu_texts;
  CLI::App app("Measures a collective as nccl-tests does, on host buffers.", name);
  AddAllFlags(app, &texts, &gpu_texts);
  app.footer(
      "Exit codes: 0 ok; 1 internal; 4 a wait passed its deadline; 5 environment; 6 usage; 7 wrong "
      "data or below NCCL_TESTS_MIN_BW; 255 bad sizes.\nExample: mpirun -n 2 " +
      name + " -b 8 -e 64M -f 2");
  return app.help();
}

}  // namespace hockney
