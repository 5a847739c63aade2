#include "topology/machine.h"

#include <fmt/core.h>
#include <hwloc.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "topology/affinity.h"
#include "topology/cgroup.h"
#include "topology/check.h"
#include "topology/cpu_map.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;
using HwlocBitmap = std::unique_ptr<hwloc_bitmap_s, Deleter<hwloc_bitmap_free>>;

// hwloc returns -1 and sets errno, as system calls do.
const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

std::optional<int> Positive(int value) {
  return value > 0 ? std::optional<int>(value) : std::nullopt;
}

std::optional<std::uint64_t> CacheBytes(hwloc_obj_t cache) {
  if (cache == nullptr || cache->attr->cache.size == 0) return std::nullopt;
  return cache->attr->cache.size;
}

// hwloc says 0 for "unknown" and negative for "at several depths".
void ReadProcessors(Machine* machine) {
  const HwlocTopology topology = LoadHwloc();
  const hwloc_topology_t handle = topology.get();

  machine->packages = Positive(hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_PACKAGE));
  machine->numa_nodes = Positive(hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_NUMANODE));
  machine->cores_online = Positive(hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_CORE));
  machine->cpus_online = Positive(hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_PU));
  if (const auto package = hwloc_get_obj_by_type(handle, HWLOC_OBJ_PACKAGE, 0)) {
    const char* info = hwloc_obj_get_info_by_name(package, "CPUModel");
    std::string model = info == nullptr ? "" : info;
    model.erase(model.find_last_not_of(' ') + 1);  // CPUID pads it with blanks
    if (!model.empty()) machine->cpu_model = model;
  }

  hwloc_obj_t last_level = nullptr;
  const auto find_cache = [&](hwloc_obj_type_t type) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(handle, type, 0);
    if (CacheBytes(cache)) last_level = cache;
    return CacheBytes(cache);
  };
  machine->l1d_bytes = find_cache(HWLOC_OBJ_L1CACHE);
  machine->l2_bytes = find_cache(HWLOC_OBJ_L2CACHE);
  machine->l3_bytes = find_cache(HWLOC_OBJ_L3CACHE);
  if (last_level != nullptr) {
    machine->last_level_cache_bytes = CacheBytes(last_level);
    machine->last_level_cache_cores = Positive(
        hwloc_get_nbobjs_inside_cpuset_by_type(handle, last_level->cpuset, HWLOC_OBJ_CORE));
  }

  const std::vector<int> allowed = AllowedCpus();
  const HwlocBitmap allowed_set(hwloc_bitmap_alloc());
  for (const int cpu : allowed) HOCKNEY_CHECK(hwloc_bitmap_set(allowed_set.get(), cpu));
  int cores_allowed = 0;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(handle, HWLOC_OBJ_CORE, core)) != nullptr;) {
    if (hwloc_bitmap_intersects(core->cpuset, allowed_set.get()) != 0) ++cores_allowed;
  }
  machine->cores_allowed = Positive(cores_allowed);
  machine->cpus_allowed = Positive(static_cast<int>(allowed.size()));
  machine->cpu_list_allowed = FormatCpuList(allowed);
}

// "always [madvise] never": the word in brackets is the chosen one.
std::optional<std::string> ChosenWord(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::size_t open = text->find('[');
  const std::size_t close = text->find(']', open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return text->substr(open + 1, close - open - 1);
}

// From a line such as "MemTotal:  24683520 kB".
std::optional<std::uint64_t> KibValue(std::string_view text, std::string_view key) {
  const auto value = FindValue(text, key);
  const auto kib = value ? ParseUint(*value) : std::nullopt;
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

void ReadMemory(const fs::path& root, Machine* machine) {
  const std::string meminfo = ReadText(root / "proc/meminfo").value_or("");
  machine->memory_total_bytes = KibValue(meminfo, "MemTotal");
  machine->memory_available_bytes = KibValue(meminfo, "MemAvailable");
  if (const auto cgroup = ReadCgroupMemory(root)) {
    machine->cgroup_memory_limit_bytes = cgroup->limit_bytes;
  }
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (page_bytes > 0) machine->page_bytes = page_bytes;
  const fs::path hugepage = root / "sys/kernel/mm/transparent_hugepage";
  machine->transparent_hugepage = ChosenWord(ReadText(hugepage / "enabled"));
  machine->transparent_hugepage_shmem = ChosenWord(ReadText(hugepage / "shmem_enabled"));
  machine->hugetlb_pages = ParseUint(ReadText(root / "proc/sys/vm/nr_hugepages").value_or(""));
}

std::optional<std::uint64_t> SoftLimit(int resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return std::nullopt;
  return limit.rlim_cur == RLIM_INFINITY ? Machine::kUnlimited : limit.rlim_cur;
}

// The flags of the first processor; only x86 has such a line.
void ReadCpuFlags(const fs::path& root, Machine* machine) {
  const auto flags = FindValue(ReadText(root / "proc/cpuinfo").value_or(""), "flags");
  if (!flags) return;
  const std::string padded = " " + *flags + " ";
  const auto has = [&](std::string_view flag) {
    return padded.find(fmt::format(" {} ", flag)) != std::string::npos;
  };
  machine->hypervisor = has("hypervisor");
  machine->constant_tsc = has("constant_tsc");
  machine->nonstop_tsc = has("nonstop_tsc");
}

}  // namespace

Machine ReadMachine(const fs::path& root) {
  Machine machine;
  ReadProcessors(&machine);
  ReadMemory(root, &machine);
  ReadCpuFlags(root, &machine);

  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) machine.host_name = name.data();
  utsname system{};
  if (uname(&system) == 0) machine.kernel = system.release;
  machine.boot_id = ReadText(root / "proc/sys/kernel/random/boot_id");
  machine.memlock_limit_bytes = SoftLimit(RLIMIT_MEMLOCK);
  machine.nofile_limit = SoftLimit(RLIMIT_NOFILE);
  machine.ptrace_scope =
      ParseUint(ReadText(root / "proc/sys/kernel/yama/ptrace_scope").value_or(""));
  machine.governor = ReadText(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  machine.nvidia_driver = fs::exists(root / "proc/driver/nvidia/version");
  return machine;
}

MemoryLimit AvailableMemory(const fs::path& root) {
  MemoryLimit limit{.bytes = KibValue(ReadText(root / "proc/meminfo").value_or(""), "MemAvailable"),
                    .source = "host memory"};
  const auto cgroup = ReadCgroupMemory(root);
  if (cgroup && (!limit.bytes || cgroup->available_bytes < *limit.bytes)) {
    limit = {.bytes = cgroup->available_bytes, .source = cgroup->file};
  }
  return limit;
}

}  // namespace hockney
