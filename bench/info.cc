#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "bench/build.h"
#include "bench/cache_size.h"
#include "bench/commands.h"
#include "bench/facts.h"
#include "bench/implementations.h"
#include "bench/info_text.h"
#include "bench/launch.h"
#include "bench/probes.h"
#include "bench/topology_options.h"
#include "bench/topology_report.h"
#include "bench/tuner_check.h"
#include "collectives/baselines/mpi/mpi_library.h"
#include "collectives/baselines/nccl/nccl_library.h"
#include "topology/agree.h"
#include "topology/collect_topology.h"
#include "topology/nccl_xml.h"
#include "topology/nvidia_topo.h"
#include "topology/nvml.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
  RankOptions ranks;
  TopologySources topology;
  std::string nvidia_topo;  // files' paths, empty: none
  std::string nccl_topo;
  bool check_tuner = false;
  std::string tuner_file;  // empty: the environment names it
  bool json = false;
};

Json RateJson(const std::optional<CopyRate>& rate) {
  if (!rate) return nullptr;
  return {{"GBps_median", rate->median / 1e9},
          {"GBps_ci_low", rate->interval.low / 1e9},
          {"GBps_ci_high", rate->interval.high / 1e9}};
}

// Shared memory is a file of the kernel's tmpfs, whose huge pages have a switch of their own.
Json PageHint(const Machine& machine, const MemoryProbe& probe) {
  constexpr double kHugeKib = 2048;
  if (!probe.page_kib || *probe.page_kib >= kHugeKib) return nullptr;
  const auto& mode = machine.transparent_hugepage_shmem;
  if (!mode || *mode == "advise" || *mode == "always" || *mode == "within_size") return nullptr;
  return "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled";
}

// What is measured on this host; every rank of it takes part.
Json ProbeHost(Session& local, const Machine& machine) {
  const LastLevelCache cache = FindLastLevelCache(machine, std::nullopt);
  const MemoryProbe probe = ProbeMemory(local, 2 * cache.bytes);
  return {
      {"cache_bytes_used", cache.bytes},
      {"cache_source", cache.source},
      {"copy_ranks", local.ranks()},
      {"copy_buffer_bytes", probe.buffer_bytes},
      {"copy_cached", RateJson(probe.cached)},
      {"copy_non_temporal", RateJson(probe.non_temporal)},
      {"page_kib", probe.page_kib ? Json(*probe.page_kib) : Json(nullptr)},
      {"memory_reason", probe.reason.empty() ? Json(nullptr) : Json(probe.reason)},
      {"cross_memory_attach", ProbeCrossMemoryAttach(local)},
      {"larger_pages_as_root", PageHint(machine, probe)},
      {"gpus", GpuTopologyJson(ReadNvmlTopology())},
  };
}

Json CompiledJson() {
  const Build build = ReadBuild();
  Json implementations = Json::array();
  for (const Implementation& each : AllImplementations()) {
    implementations.push_back({{"name", each.name}, {"built", each.built}, {"note", each.note}});
  }
  const bool cuda = !build.cuda.empty();
  const std::string nccl = NcclHeaderVersion();
  return {
      {"ucx", !build.ucx.empty()},
      {"cuda", cuda},
      {"cuda_reason", cuda ? Json(nullptr) : Json("no CUDA compiler when this was configured")},
      {"nccl", !nccl.empty()},
      {"nccl_header", nccl.empty() ? Json(nullptr) : Json(nccl)},
      {"nccl_reason",
       nccl.empty() ? Json("no CUDA or no nccl.h when this was configured") : Json(nullptr)},
      {"implementations", implementations},
  };
}

// What the files say of GPUs, on rank 0; null without files.
Json ReadGpuFiles(const InfoOptions& options, Session& session) {
  Json read;
  RunOnAllOrThrow(session, [&] {
    if (session.rank() != 0) return;
    if (!options.nvidia_topo.empty()) {
      read.push_back(GpuTopologyJson(ReadNvidiaTopo(options.nvidia_topo)));
    }
    if (!options.nccl_topo.empty()) {
      read.push_back(GpuTopologyJson(ReadNcclXml(options.nccl_topo)));
    }
  });
  return read;
}

int RunInfo(const InfoOptions& options, const Launch& launch, Session& session) {
  if (options.check_tuner) {
    return CheckTuner(
        session, options.tuner_file.empty() ? std::nullopt : std::optional(options.tuner_file));
  }
  const Json gpu_files = ReadGpuFiles(options, session);
  const SwitchTree tree = ReadSwitchTree(session, options.topology);
  Session local = session.SplitSharedMemory();
  const RankPlace place = PlaceRank(session, local);
  const Topology topology = CollectTopology(session, local, ReportOfThisRank(local), tree);
  const bool mpi_runs = session.mpi_communicator() != nullptr;
  Json info = CollectFacts(session, place,
                           {.command_line = launch.arguments(),
                            .rank_source = launch.rank_source(),
                            .mpi_library = mpi_runs ? MpiLibrary() : ""});
  const Json mine = ProbeHost(local, *place.machine);
  const std::vector<Json> probes = GatherJson(session, mine);
  if (session.rank() != 0) return 0;

  info["topology"] = TopologyJson(topology);
  info["gpu_files"] = gpu_files;
  info["compiled"] = CompiledJson();
  for (int rank = 0; rank < session.ranks(); ++rank) {  // all ranks of a host say the same
    info["hosts"][info["ranks"][rank]["host"].get<std::size_t>()]["measured"] = probes[rank];
  }
  constexpr auto kReplace = Json::error_handler_t::replace;
  fmt::print("{}", options.json ? info.dump(2, ' ', false, kReplace) + "\n" : InfoText(info));
  return 0;
}

Runner AddInfo(CLI::App& program) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App& command = *program.add_subcommand(
      "info",
      "Show hosts, ranks and the levels between them, pinning, caches, memory, limits and what is "
      "missing");
  command.footer(
      "Copies memory with all ranks at once, for about a second; changes nothing.\n"
      "Example: mpirun -n 4 hockney info");
  AddRankOptions(command, &options->ranks);
  AddTopologyOptions(command, &options->topology);
  command
      .add_option("--nvidia-topo", options->nvidia_topo,
                  "Show what the output of nvidia-smi topo -m says, which rank 0 reads")
      ->type_name("FILE");
  command
      .add_option("--nccl-topo", options->nccl_topo,
                  "Show what a topology dump of NCCL or RCCL (XML) says, which rank 0 reads")
      ->type_name("FILE");
  CLI::Option* const check =
      command
          .add_option("--check-tuner", options->tuner_file,
                      "Only show whether the ranks of all hosts read the same rules for NCCL's "
                      "tuner, from FILE or, without it, from NCCL_TUNER_CONFIG_FILE")
          ->type_name("[FILE]")
          ->expected(0, 1);
  command.add_flag("--json", options->json, "Print JSON");
  return [options, check](Launch& launch) {
    CheckTopologyOptions(options->topology);
    options->check_tuner = check->count() > 0;
    return launch.RunRanks(options->ranks,
                           [&](Session& session) { return RunInfo(*options, launch, session); });
  };
}

}  // namespace

Command InfoCommand() { return {.name = "info", .add = AddInfo}; }

}  // namespace hockney
