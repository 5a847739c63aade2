#include "bench/facts.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "bench/build.h"
#include "bench/json_values.h"
#include "collectives/kernels/kernels.h"
#include "topology/peer_links.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

Json LimitJson(std::optional<std::uint64_t> limit) {
  if (limit == Machine::kUnlimited) return "unlimited";
  return OrNull(limit);
}

Json HostJson(const Machine& machine) {
  return {
      {"name", OrNull(machine.host_name)},
      {"boot_id", OrNull(machine.boot_id)},
      {"kernel", OrNull(machine.kernel)},
      {"cpu_model", OrNull(machine.cpu_model)},
      {"packages", OrNull(machine.packages)},
      {"numa_nodes", OrNull(machine.numa_nodes)},
      {"cores_online", OrNull(machine.cores_online)},
      {"cpus_online", OrNull(machine.cpus_online)},
      {"cores_allowed", OrNull(machine.cores_allowed)},
      {"cpu_list_allowed", OrNull(machine.cpu_list_allowed)},
      {"l1d_bytes", OrNull(machine.l1d_bytes)},
      {"l2_bytes", OrNull(machine.l2_bytes)},
      {"l3_bytes", OrNull(machine.l3_bytes)},
      {"last_level_cache_bytes", OrNull(machine.last_level_cache_bytes)},
      {"last_level_cache_cores", OrNull(machine.last_level_cache_cores)},
      {"memory_total_bytes", OrNull(machine.memory_total_bytes)},
      {"memory_available_bytes", OrNull(machine.memory_available_bytes)},
      {"cgroup_memory_limit_bytes", OrNull(machine.cgroup_memory_limit_bytes)},
      {"page_bytes", OrNull(machine.page_bytes)},
      {"transparent_hugepage", OrNull(machine.transparent_hugepage)},
      {"transparent_hugepage_shmem", OrNull(machine.transparent_hugepage_shmem)},
      {"hugetlb_pages", OrNull(machine.hugetlb_pages)},
      {"memlock_limit_bytes", LimitJson(machine.memlock_limit_bytes)},
      {"nofile_limit", LimitJson(machine.nofile_limit)},
      {"ptrace_scope", OrNull(machine.ptrace_scope)},
      {"hypervisor", OrNull(machine.hypervisor)},
      {"constant_tsc", OrNull(machine.constant_tsc)},
      {"nonstop_tsc", OrNull(machine.nonstop_tsc)},
      {"governor", OrNull(machine.governor)},
      {"nvidia_driver", machine.nvidia_driver},
  };
}

// Limits are told per rank too: one rank's can be lower than the others'.
Json RankJson(const Session& session, const RankPlace& place) {
  return {
      {"rank", session.rank()},
      {"host", place.host},
      {"pid", getpid()},
      {"cpus", place.pin.cpu_list},
      {"pinned_by", Name(place.pin.by)},
      {"oversubscribed", place.oversubscribed},
      {"shared_kernel", place.shared_kernel},
      {"memlock_limit_bytes", LimitJson(place.machine->memlock_limit_bytes)},
      {"nofile_limit", LimitJson(place.machine->nofile_limit)},
  };
}

Json VersionsJson(const std::string& mpi_library) {
  const Build build = ReadBuild();
  return {
      {"hockney", build.version},
      {"build_id", TextOrNull(build.id)},
      {"compiler", build.compiler},
      {"build_type", build.type},
      {"sanitizer", TextOrNull(build.sanitizer)},
      {"kernels", KernelTarget()},
      {"mpi", TextOrNull(mpi_library)},
      {"ucx_headers", TextOrNull(build.ucx)},
      {"hwloc", TextOrNull(build.hwloc)},
      {"cuda", TextOrNull(build.cuda)},
      {"nccl", nullptr},
  };
}

Json EnvironmentJson() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == text.npos || !IsRecordedVariable(text.substr(0, equals))) continue;
    found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(found.begin(), found.end());
  Json environment = Json::object();
  for (const auto& [name, value] : found) environment[name] = value;
  return environment;
}

// Threads have one machine and hwloc takes long to read it; processes may have limits of their own.
std::shared_ptr<const Machine> ShareMachine(Session& local) {
  if (local.kind() == RankKind::kProcesses) return std::make_shared<const Machine>(ReadMachine());
  std::shared_ptr<const Machine> mine;
  if (local.rank() == 0) mine = std::make_shared<const Machine>(ReadMachine());
  return std::static_pointer_cast<const Machine>(local.AllGatherShared(std::move(mine))[0]);
}

}  // namespace

RankPlace PlaceRank(Session& session, Session& local) {
  RankPlace place;
  place.machine = ShareMachine(local);
  place.local_rank = local.rank();
  place.local_ranks = local.ranks();
  const CpuShare share = ShareCpus(session, local, place.machine->boot_id);
  place.pin = share.pin;
  place.oversubscribed = share.oversubscribed;
  place.shared_kernel = share.shared_kernel;

  const std::vector<int> firsts = FirstRanksOfHosts(session, local);
  place.hosts = 0;
  for (int rank = 0; rank < session.ranks(); ++rank) {
    if (firsts[rank] != rank) continue;
    if (rank == firsts[session.rank()]) place.host = place.hosts;
    ++place.hosts;
  }
  return place;
}

nlohmann::ordered_json CollectFacts(Session& session, const RankPlace& place,
                                    const RunContext& context) {
  Json mine = {{"rank", RankJson(session, place)}};
  if (place.local_rank == 0) {
    mine["host"] = HostJson(*place.machine);
    mine["ranks_here"] = place.local_ranks;
  }
  if (session.rank() == 0) {
    mine["run"] = {
        {"start_utc", UtcText(context.start)},
        {"command_line", context.command_line},
        {"versions", VersionsJson(context.mpi_library)},
        {"environment", EnvironmentJson()},
        {"rank_source", TextOrNull(context.rank_source)},
    };
  }
  const std::vector<Json> all = GatherJson(session, mine);

  Json facts = all[0].at("run");
  facts["rank_kind"] = session.kind() == RankKind::kThreads ? "threads" : "processes";
  facts["rank_count"] = session.ranks();
  facts["ranks_per_host"] = Json::array();
  facts["hosts"] = Json::array();
  facts["ranks"] = Json::array();
  for (const Json& each : all) {
    if (each.contains("host")) {
      facts["hosts"].push_back(each["host"]);
      facts["ranks_per_host"].push_back(each["ranks_here"]);
    }
    facts["ranks"].push_back(each["rank"]);
  }
  return facts;
}

bool IsRecordedVariable(std::string_view name) {
  // What mpirun itself sets: paths and numbers of one launch, nothing a user chose.
  for (const std::string_view prefix :
       {"OMPI_MCA_initial_", "OMPI_MCA_orte_", "OMPI_MCA_ess_", "MPIR_CVAR_CH3_INTERFACE_"}) {
    if (name.substr(0, prefix.size()) == prefix) return false;
  }
  for (const std::string_view prefix : {"OMPI_MCA_", "MPIR_CVAR_", "UCX_", "NCCL_"}) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  for (const std::string_view exact : {"OMP_NUM_THREADS", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    if (name == exact) return true;
  }
  return false;
}

std::string UtcText(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace hockney
