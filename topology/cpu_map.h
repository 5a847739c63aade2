#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>

struct hwloc_topology;

namespace hockney {

// Destroys what LoadHwloc made.
struct HwlocDestroyer {
  void operator()(hwloc_topology* topology) const noexcept;
};
using HwlocTopology = std::unique_ptr<hwloc_topology, HwlocDestroyer>;

// Returns this machine as hwloc sees it, with the CPUs that a control group forbids, which would
// otherwise look offline. Takes tens of milliseconds. Throws BackendError if hwloc cannot start.
HwlocTopology LoadHwloc();

// Where a CPU lies on its host: numbers of hwloc (logical), unique on the host; empty: not known.
struct CpuPlace {
  std::optional<int> numa_node = {};
  std::optional<int> cache = {};  // of the last level the machine shows

  friend bool operator==(const CpuPlace&, const CpuPlace&) = default;
};
// By CPU number as Linux counts.
using CpuMap = std::map<int, CpuPlace>;

// Returns where each CPU of this machine lies. Throws BackendError if hwloc cannot start.
CpuMap ReadCpuMap();

// Returns where a thread lies that may run on `cpus`: empty where they differ or are not known.
CpuPlace PlaceOf(const CpuMap& map, std::span<const int> cpus);

}  // namespace hockney
