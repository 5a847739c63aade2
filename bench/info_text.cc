#include "bench/info_text.h"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "bench/gpu_text.h"
#include "bench/text_table.h"
#include "bench/topology_text.h"
#include "topology/topology.h"

namespace hockney {
namespace {

using Json = nlohmann::ordered_json;

// A fact as text; what is not known is "-".
std::string Text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:g}", value.get<double>());
  return value.dump();
}

std::string Bytes(const Json& value) {
  if (!value.is_number()) return Text(value);
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = value.get<double>();
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(kUnits)) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", amount, kUnits[unit]);
}

std::string Line(std::string_view label, const std::string& text) {
  return fmt::format("  {:<14} {}\n", label, text);
}

std::string Rate(const Json& rate) {
  if (rate.is_null()) return "-";
  return fmt::format("{:.2f} GB/s [{:.2f}, {:.2f}]", rate["GBps_median"].get<double>(),
                     rate["GBps_ci_low"].get<double>(), rate["GBps_ci_high"].get<double>());
}

std::string HardwareLines(const Json& host) {
  const Json& virtual_machine = host["hypervisor"];
  std::string text;
  text += Line("cpu", fmt::format("{}; packages {}, NUMA nodes {}, cores {}, cpus {}; virtual "
                                  "machine {}",
                                  Text(host["cpu_model"]), Text(host["packages"]),
                                  Text(host["numa_nodes"]), Text(host["cores_online"]),
                                  Text(host["cpus_online"]), Text(virtual_machine)));
  text += Line("usable", fmt::format("cores {}, cpus {} (by the first rank, before pinning)",
                                     Text(host["cores_allowed"]), Text(host["cpu_list_allowed"])));
  text +=
      Line("caches", fmt::format("L1d {}, L2 {}, L3 {}; cores that share the last level {}",
                                 Bytes(host["l1d_bytes"]), Bytes(host["l2_bytes"]),
                                 Bytes(host["l3_bytes"]), Text(host["last_level_cache_cores"])));
  text += Line(
      "memory",
      fmt::format("{}, available {}, control group limit {}", Bytes(host["memory_total_bytes"]),
                  Bytes(host["memory_available_bytes"]), Bytes(host["cgroup_memory_limit_bytes"])));
  text +=
      Line("kernel", fmt::format("{}, CPU frequency governor {}, boot id {}", Text(host["kernel"]),
                                 Text(host["governor"]), Text(host["boot_id"])));
  return text;
}

std::string MemoryLines(const Json& host) {
  const Json& measured = host["measured"];
  std::string text;
  text +=
      Line("copy", fmt::format("cached stores {}, non-temporal stores {}",
                               Rate(measured["copy_cached"]), Rate(measured["copy_non_temporal"])));
  text +=
      Line("", fmt::format("(median [95 % interval], bytes read + written; {} ranks at once, {} "
                           "each; cache taken as {}, {})",
                           Text(measured["copy_ranks"]), Bytes(measured["copy_buffer_bytes"]),
                           Bytes(measured["cache_bytes_used"]), Text(measured["cache_source"])));
  if (!measured["memory_reason"].is_null()) text += Line("", Text(measured["memory_reason"]));
  text += Line("pages",
               fmt::format("{} KiB measured behind shared memory; transparent huge pages "
                           "{}, of shared memory {}; hugetlb pages {}",
                           Text(measured["page_kib"]), Text(host["transparent_hugepage"]),
                           Text(host["transparent_hugepage_shmem"]), Text(host["hugetlb_pages"])));
  if (const Json& hint = measured["larger_pages_as_root"]; !hint.is_null()) {
    text += Line("", fmt::format("larger ones, as root: {}", Text(hint)));
  }
  text +=
      Line("limits", fmt::format("memlock {}, open files {} (inside this job)",
                                 Bytes(host["memlock_limit_bytes"]), Text(host["nofile_limit"])));
  text += Line("peers' memory",
               fmt::format("cross-memory attach {}; ptrace_scope {}",
                           Text(measured["cross_memory_attach"]), Text(host["ptrace_scope"])));
  return text;
}

std::string GpuLines(const Json& gpus) {
  if (!gpus["unknown_because"].is_null()) {
    return Line("GPUs", fmt::format("none known: {}", Text(gpus["unknown_because"])));
  }
  return GpuTopologyText(gpus);
}

std::string RankTable(const Json& info) {
  std::vector<std::vector<std::string>> rows = {
      {"rank", "host", "pid", "cpus", "bound by", "oversubscribed", "memlock", "open files"}};
  for (const Json& rank : info["ranks"]) {
    const Json& host = info["hosts"][rank["host"].get<std::size_t>()];
    rows.push_back({Text(rank["rank"]), Text(host["name"]), Text(rank["pid"]), Text(rank["cpus"]),
                    Text(rank["pinned_by"]), Text(rank["oversubscribed"]),
                    Bytes(rank["memlock_limit_bytes"]), Text(rank["nofile_limit"])});
  }
  return FormatTable(rows);
}

// Says where several hosts share a kernel, which looks like too few cores otherwise.
std::string SharedKernels(const Json& info) {
  for (const Json& rank : info["ranks"]) {
    if (!rank["shared_kernel"].get<bool>()) continue;
    return "several hosts run on one kernel (equal boot ids) and share its cores: hockney pins no "
           "rank there, and counts cores over all of them\n";
  }
  return "";
}

std::string CompiledLines(const Json& info) {
  const Json& versions = info["versions"];
  const Json& compiled = info["compiled"];
  const std::string mpi = versions["mpi"].is_null() ? "not started" : Text(versions["mpi"]);
  std::string text = "built\n";
  text += Line("hockney", fmt::format("{}, {}, {}, kernels for {}", Text(versions["hockney"]),
                                      Text(versions["compiler"]), Text(versions["build_type"]),
                                      Text(versions["kernels"])));
  text += Line("libraries", fmt::format("MPI {}; hwloc {}; UCX headers {}", mpi,
                                        Text(versions["hwloc"]), Text(versions["ucx_headers"])));
  text += Line("CUDA", compiled["cuda"].get<bool>()
                           ? "toolkit " + Text(versions["cuda"]) + " found when this was configured"
                           : "missing: " + Text(compiled["cuda_reason"]));
  for (const Json& each : compiled["implementations"]) {
    text += Line(Text(each["name"]),
                 (each["built"].get<bool>() ? "" : "missing: ") + Text(each["note"]));
  }
  return text;
}

}  // namespace

std::string InfoText(const Json& info) {
  std::string text =
      fmt::format("ranks {}: {} on {} host(s), ranks per host {}, chosen by: {}\n",
                  Text(info["rank_count"]), Text(info["rank_kind"]), info["hosts"].size(),
                  FormatRanksPerNode(info["ranks_per_host"].get<std::vector<int>>()),
                  Text(info["rank_source"]));
  text += RankTable(info) + SharedKernels(info) + "\n" + TopologyText(info["topology"]);
  for (const Json& gpus : info["gpu_files"]) text += "\n" + GpuTopologyText(gpus);
  for (const Json& host : info["hosts"]) {
    text += fmt::format("\nhost {}\n", Text(host["name"]));
    text += HardwareLines(host) + MemoryLines(host) + GpuLines(host["measured"]["gpus"]);
  }
  return text + "\n" + CompiledLines(info);
}

}  // namespace hockney
