#include "topology/cpu_map.h"

#include <hwloc.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "topology/check.h"

namespace hockney {
namespace {

// hwloc returns -1 and sets errno, as system calls do.
const char* StatusText(int status) { return status == -1 ? strerrordesc_np(errno) : nullptr; }

// The number of the outermost cache around `unit`.
std::optional<int> CacheOf(hwloc_obj_t unit) {
  std::optional<int> cache;
  for (hwloc_obj_t at = unit->parent; at != nullptr; at = at->parent) {
    if (hwloc_obj_type_is_cache(at->type) != 0) cache = static_cast<int>(at->logical_index);
  }
  return cache;
}

// The first NUMA node around `unit`: with several (fast and large memory) that is the usual one.
std::optional<int> NumaNodeOf(hwloc_topology_t topology, hwloc_obj_t unit) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_isset(node->cpuset, unit->os_index) != 0) {
      return static_cast<int>(node->logical_index);
    }
  }
  return std::nullopt;
}

template <class Value>
void KeepIfEqual(std::optional<Value>& kept, const std::optional<Value>& other) {
  if (kept != other) kept.reset();
}

}  // namespace

void HwlocDestroyer::operator()(hwloc_topology* topology) const noexcept {
  hwloc_topology_destroy(topology);
}

HwlocTopology LoadHwloc() {
  hwloc_topology_t handle = nullptr;
  HOCKNEY_CHECK(hwloc_topology_init(&handle));
  HwlocTopology topology(handle);
  HOCKNEY_CHECK(hwloc_topology_set_flags(handle, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED));
  HOCKNEY_CHECK(hwloc_topology_load(handle));
  return topology;
}

CpuMap ReadCpuMap() {
  const HwlocTopology topology = LoadHwloc();
  CpuMap map;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, unit)) != nullptr) {
    map[static_cast<int>(unit->os_index)] = {.numa_node = NumaNodeOf(topology.get(), unit),
                                             .cache = CacheOf(unit)};
  }
  return map;
}

CpuPlace PlaceOf(const CpuMap& map, std::span<const int> cpus) {
  CpuPlace place;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const auto found = map.find(cpus[i]);
    const CpuPlace each = found == map.end() ? CpuPlace{} : found->second;
    if (i == 0) place = each;
    KeepIfEqual(place.numa_node, each.numa_node);
    KeepIfEqual(place.cache, each.cache);
  }
  return place;
}

}  // namespace hockney
