#pragma once

#include <array>
#include <string_view>

namespace hockney {

// How near two ranks are, from near to far: the nearest thing that both are in.
enum class Level {
  kSelf,   // the same rank
  kCache,  // a last-level cache
  kNuma,   // a NUMA node
  // Of ranks that work on GPUs: the same GPU, or what joins theirs (GpuLevel).
  kGpu,
  kNvlink,
  kPcieSwitch,
  kHostBridge,
  kSocket,
  kNode,    // a host
  kRack,    // hosts at one switch
  kPod,     // racks at one switch above
  kFabric,  // the network, or not known
};
inline constexpr std::array kAllLevels = {Level::kSelf,       Level::kCache,  Level::kNuma,
                                          Level::kGpu,        Level::kNvlink, Level::kPcieSwitch,
                                          Level::kHostBridge, Level::kSocket, Level::kNode,
                                          Level::kRack,       Level::kPod,    Level::kFabric};

// How near two GPUs, or a GPU and a network card, of one host are, from near to far.
enum class GpuLevel {
  kSelf,
  kNvlink,      // GPUs' own links: NVLink or xGMI, through switches of theirs or not
  kPcieSwitch,  // PIX and PXB of nvidia-smi
  kHostBridge,  // PHB and NODE
  kSocket,      // SYS, or not known
};
inline constexpr std::array kAllGpuLevels = {GpuLevel::kSelf, GpuLevel::kNvlink,
                                             GpuLevel::kPcieSwitch, GpuLevel::kHostBridge,
                                             GpuLevel::kSocket};

// "self", "cache", "numa", "gpu", "nvlink", "pcie_switch", "host_bridge", "socket", "node", "rack",
// "pod", "fabric"; of GpuLevel the same words.
std::string_view Name(Level level);
std::string_view Name(GpuLevel level);

// How near ranks on two GPUs are.
Level LevelOf(GpuLevel level);

// One character for matrices: = c u g v x b s n r p f; = v p b s. The legend is theirs who print
// it.
char Letter(Level level);
char Letter(GpuLevel level);

}  // namespace hockney
