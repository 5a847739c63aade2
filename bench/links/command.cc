#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "bench/commands.h"
#include "bench/device/device_options.h"
#include "bench/exit_codes.h"
#include "bench/json_values.h"
#include "bench/last_words.h"
#include "bench/launch.h"
#include "bench/links/kernel_report.h"
#include "bench/links/kernel_survey.h"
#include "bench/links/link_report.h"
#include "bench/links/link_survey.h"
#include "bench/options.h"
#include "bench/rig.h"
#include "bench/sizes.h"
#include "bench/topology_options.h"
#include "topology/agree.h"
#include "topology/check.h"
#include "topology/cluster_file.h"
#include "topology/collect_topology.h"
#include "topology/machine.h"
#include "topology/nvml.h"
#include "tuner/records.h"
#include "tuner/records/line_file.h"

namespace hockney {
namespace {

// What is measured of kernels beside links.
enum class Kernels { kNone, kWith, kOnly };

// As typed.
struct Texts {
  std::string least = "8";
  std::string most = "16M";
  std::string budget = "50ms";
  std::string kernels = "with";
  std::string out;
  LinkOptions options;
  MemoryTexts memory;
  TopologySources sources;
  RankOptions ranks;
};

// Where the cache's bytes are only assumed, all ranks may share it.
CacheSizes FindCacheSizes(const Machine& machine, const LastLevelCache& llc) {
  CacheSizes caches{.llc_bytes = llc.bytes, .llc_ranks = std::numeric_limits<int>::max()};
  caches.l2_bytes = machine.l2_bytes.value_or(caches.l2_bytes);
  if (!llc.is_assumed() && machine.last_level_cache_cores) {
    caches.llc_ranks = *machine.last_level_cache_cores;
  }
  return caches;
}

// With what the rig needs to know.
SweepOptions ReadRigOptions(const CLI::App& command, const Texts& texts) {
  SweepOptions options;
  options.implementations = {"hockney"};
  options.timeout_seconds = texts.ranks.timeout_seconds;
  ReadMemoryTexts(command, texts.memory, options);
  if (options.memory == MemoryKind::kCuda) options.lanes = {LinkRunner::kMostLanes};
  return options;
}

LinkOptions Read(const Texts& texts) {
  constexpr std::uint64_t kLeastMost = 8192;  // room for the small messages of gap and overhead
  LinkOptions options = texts.options;
  options.least_bytes = ParseSize("-b", texts.least);
  options.most_bytes = ParseSize("-e", texts.most);
  if (options.least_bytes == 0) FailOption("-b", texts.least, "at least 1 byte");
  if (options.most_bytes < std::max(options.least_bytes, kLeastMost)) {
    FailOption("-e", texts.most, fmt::format("at least 8K and -b, {}", texts.least));
  }
  options.budget_seconds = ParseDuration("--budget", texts.budget, BareNumber::kSeconds);
  CheckTopologyOptions(texts.sources);
  return options;
}

Kernels ReadKernelsOption(const Texts& texts, bool on_devices) {
  constexpr std::string_view kNames[] = {"none", "with", "only"};
  constexpr Kernels kValues[] = {Kernels::kNone, Kernels::kWith, Kernels::kOnly};
  const Kernels kernels = kValues[ParseChoice("--kernels", texts.kernels, kNames)];
  if (on_devices && kernels == Kernels::kOnly) {
    FailOption("--kernels", texts.kernels, "none or with where buffers are on GPUs");
  }
  return on_devices ? Kernels::kNone : kernels;
}

class Links {
 public:
  struct Options {
    LinkOptions links;
    Kernels kernels = Kernels::kWith;
    SweepOptions rig;
  };
  Links(Session& session, const Texts& texts, const Options& options, const Launch& launch)
      : session_(session), texts_(texts), options_(options), launch_(launch) {}
  int Run();

 private:
  Topology FindTopology(const SweepContext& context);
  void OpenFolder();
  bool MeasureLinks(Rig& rig, const Topology& topology);
  bool MeasureKernels(const SweepContext& context, const Topology& topology);
  void WriteRun(const char* outcome, std::optional<ExitCode> code);

  Session& session_;
  const Texts& texts_;
  const Options& options_;
  const Launch& launch_;
  nlohmann::ordered_json run_;
  std::optional<RunFolder> folder_;
};

void Links::WriteRun(const char* outcome, std::optional<ExitCode> code) {
  SetOutcome(run_, "links", outcome, code);
  folder_->WriteRun(run_);
}

void Links::OpenFolder() {
  RunOnAllOrThrow(session_, [&] {
    if (session_.rank() != 0) return;
    const auto path = texts_.out.empty() ? DefaultRunPath("links", std::chrono::system_clock::now())
                                         : std::filesystem::path(texts_.out);
    folder_ = RunFolder::Create(path, {{"hockney", "links"}});
    WriteRun("running", std::nullopt);
  });
  LeaveLastWords(session_, launch_.watchdog(), folder_ ? folder_->path() : "");
}

// Ranks on GPUs have these, not their cores, between them.
Topology Links::FindTopology(const SweepContext& context) {
  SwitchTree tree = ReadSwitchTree(session_, texts_.sources);
  Session local = session_.SplitSharedMemory();
  RankReport mine = ReportOfThisRank(local);
  if (context.device != nullptr) {
    AddGpu(ReadNvmlTopology(), context.device->device().id(), &mine.site);
  }
  return CollectTopology(session_, local, mine, std::move(tree));
}

// Returns whether it came to its end.
bool Links::MeasureLinks(Rig& rig, const Topology& topology) {
  LinkRunner runner(rig.context(), options_.links.most_bytes);
  LinkOptions options = options_.links;
  options.ranks_share_cores = rig.context().oversubscribed;
  const LinkFindings found = SurveyLinks(runner, topology, options, [&](const LinkRow& row) {
    if (folder_) folder_->AppendLinks({&row, 1});
  });
  rig.NoteTransports();
  if (!folder_) return found.finished;
  run_["transports"] = rig.facts().value("transports", nlohmann::ordered_json::array());
  run_.update(LinksJson(found));
  fmt::print("{}", LinksText(found, topology));
  if (options.ranks_share_cores) {
    fmt::print(
        "ranks share {}: latencies, gaps and overheads say little about links, and racks are "
        "not looked for\n",
        rig.context().device == nullptr ? "cores" : "GPUs");
  }
  if (!found.measured_racks.racks.empty()) {
    ReplaceFile((folder_->path() / "cluster.json").string(),
                FormatClusterFile(found.measured_racks));
  }
  return found.finished;
}

// The same for kernels.
bool Links::MeasureKernels(const SweepContext& context, const Topology& topology) {
  launch_.watchdog().SetActivity("kernels of the host of rank 0");
  Session local = session_.SplitSharedMemory();
  KernelOptions options{.caches = FindCacheSizes(ReadMachine(), context.llc),
                        .host = topology.host_name(topology.node_of_rank(0)),
                        .ranks_share_cores = context.oversubscribed};
  const KernelFindings found = SurveyKernels(session_, local, options, [&](const KernelRow& row) {
    if (folder_) folder_->AppendKernels({&row, 1});
  });
  if (!folder_) return found.finished;
  run_["kernels"] = {{"l2_bytes", options.caches.l2_bytes},
                     {"llc_bytes", options.caches.llc_bytes},
                     {"reason", TextOrNull(found.reason)}};
  fmt::print("{}", KernelsText(found.rows));
  if (!found.reason.empty()) fmt::print("\nkernels were not measured: {}\n", found.reason);
  return found.finished;
}

int Links::Run() {
  const bool with_links = options_.kernels != Kernels::kOnly;
  if (with_links && session_.ranks() < 2) {
    throw Agreed<UsageError>("1 rank, expected at least 2: mpirun -n 2, or --local 2");
  }
  Rig rig(session_, options_.rig, launch_);
  const Cell largest{.collective = Collective::kSendRecv,
                     .ranks = session_.ranks(),
                     .type = DataType::kUint8,
                     .count = with_links ? options_.links.most_bytes : 0};
  try {
    rig.SetUp({&largest, 1});
  } catch (const Agreed<EnvironmentError>& error) {
    throw Agreed<EnvironmentError>(fmt::format("-e {}: {}", texts_.most, error.what()));
  }
  const Topology topology = FindTopology(rig.context());
  run_ = rig.facts();
  OpenFolder();
  bool finished = !with_links || MeasureLinks(rig, topology);
  session_.Broadcast(std::as_writable_bytes(std::span(&finished, 1)), 0);
  if (finished && options_.kernels != Kernels::kNone) {
    finished = MeasureKernels(rig.context(), topology);
  }
  const ExitCode code = finished ? ExitCode::kOk : ExitCode::kInterrupted;
  if (folder_) {
    if (!finished) fmt::print(stderr, "hockney links: interrupted; what was finished is kept\n");
    WriteRun(finished ? "finished" : "interrupted", code);
    fmt::print("\nrun folder: {}\n", folder_->path().string());
  }
  session_.Barrier();  // nobody leaves before the folder is complete
  launch_.watchdog().SetLastWords({});
  return session_.rank() == 0 ? ToInt(code) : 0;
}

Runner AddLinks(CLI::App& program) {
  const auto texts = std::make_shared<Texts>();
  CLI::App& command = *program.add_subcommand(
      "links", "Measure the links between ranks: latency, rate, both directions, pairs at once");
  command.add_option("-b", texts->least, "Smallest message")->capture_default_str();
  command
      .add_option("-e", texts->most,
                  "Largest message, at least 8K; less where one would take over 0.15 s")
      ->capture_default_str();
  command.add_option("--budget", texts->budget, "Time for the samples of one point")
      ->capture_default_str();
  command.add_flag("--pairs", texts->options.pairs,
                   "Measure all pairs of ranks, also when there are more than 16 ranks");
  command.add_flag("--rails", texts->options.rails,
                   "Measure ranks of equal place on neighbouring hosts, all at once");
  command.add_flag("--bisect", texts->options.bisect,
                   "Measure one half of the ranks with the other, all at once");
  command
      .add_option("--kernels", texts->kernels,
                  "Copies and sums of the host of rank 0: with (the links), only, none")
      ->capture_default_str();
  command.add_option("--out", texts->out, "Run folder (default hockney-runs/<UTC>_links)");
  AddMemoryTexts(command, &texts->memory);
  AddTopologyOptions(command, &texts->sources);
  AddRankOptions(command, &texts->ranks);
  command.footer("Example: mpirun -n 4 hockney links --bisect");
  return [texts, &command](Launch& launch) {
    Links::Options options{.links = Read(*texts), .rig = ReadRigOptions(command, *texts)};
    texts->ranks.on_devices = options.rig.memory == MemoryKind::kCuda;
    options.kernels = ReadKernelsOption(*texts, texts->ranks.on_devices);
    return launch.RunRanks(texts->ranks, [&](Session& session) {
      return Links(session, *texts, options, launch).Run();
    });
  };
}

}  // namespace

Command LinksCommand() { return {.name = "links", .add = AddLinks}; }

}  // namespace hockney
