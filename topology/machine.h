#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

namespace hockney {

// Facts of this host. A fact that cannot be read is empty, never 0 or "". "Core" is a physical
// core, "cpu" a hardware thread.
struct Machine {
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  std::optional<std::string> host_name;
  std::optional<std::string> boot_id;  // equal for two processes only if they run on one kernel
  std::optional<std::string> kernel;   // release
  std::optional<std::string> cpu_model;
  std::optional<int> packages;
  std::optional<int> numa_nodes;
  std::optional<int> cores_online;
  std::optional<int> cpus_online;
  std::optional<int> cores_allowed;  // by the calling thread's affinity: read before pinning
  std::optional<int> cpus_allowed;
  std::optional<std::string> cpu_list_allowed;

  std::optional<std::uint64_t> l1d_bytes;  // one cache each
  std::optional<std::uint64_t> l2_bytes;
  std::optional<std::uint64_t> l3_bytes;
  std::optional<std::uint64_t> last_level_cache_bytes;
  std::optional<int> last_level_cache_cores;  // that share one last-level cache

  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<std::uint64_t> memory_available_bytes;
  std::optional<std::uint64_t> cgroup_memory_limit_bytes;  // empty also where there is no limit
  std::optional<std::uint64_t> page_bytes;
  std::optional<std::string> transparent_hugepage;        // the chosen word: always|madvise|never
  std::optional<std::string> transparent_hugepage_shmem;  // always|within_size|advise|never|...
  std::optional<std::uint64_t> hugetlb_pages;             // of the default size
  std::optional<std::uint64_t> memlock_limit_bytes;       // kUnlimited if so
  std::optional<std::uint64_t> nofile_limit;
  std::optional<int> ptrace_scope;  // empty where the kernel has no Yama: nothing is restricted

  std::optional<bool> hypervisor;  // empty off x86
  std::optional<bool> constant_tsc;
  std::optional<bool> nonstop_tsc;
  std::optional<std::string> governor;  // of the first CPU
  bool nvidia_driver = false;
};

// Reads the facts. `root` is "/" but in tests, which pass a folder with made-up proc and sys; hwloc
// and the system calls always speak of the real machine. Throws BackendError if hwloc cannot start.
Machine ReadMachine(const std::filesystem::path& root = "/");

// Memory that can still be had without swapping, and what limits it ("host memory" or the file of a
// control group).
struct MemoryLimit {
  std::optional<std::uint64_t> bytes;  // empty if neither limit is readable
  std::string source;
};
MemoryLimit AvailableMemory(const std::filesystem::path& root = "/");

}  // namespace hockney
