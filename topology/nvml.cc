#include "topology/nvml.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <map>
#include <system_error>

#include "topology/nvml_api.h"
#include "topology/text_files.h"

namespace hockney {
namespace {

namespace fs = std::filesystem;

// NVML counts domains in eight digits and writes capitals: "00000000:A4:00.0" is 0000:a4:00.0.
std::string ToSysfs(std::string bus_id) {
  std::ranges::transform(bus_id, bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t colon = bus_id.find(':');
  if (colon == 8 && bus_id.starts_with("0000")) bus_id.erase(0, 4);
  return bus_id;
}

// NVML's levels of a common ancestor, NVML_TOPOLOGY_*.
DevicePath PathOfAncestor(int level) {
  switch (level) {
    case 0:  // one board
    case 10:
      return {.level = GpuLevel::kPcieSwitch, .text = "PIX"};
    case 20:
      return {.level = GpuLevel::kPcieSwitch, .text = "PXB"};
    case 30:
      return {.level = GpuLevel::kHostBridge, .text = "PHB"};
    case 40:
      return {.level = GpuLevel::kHostBridge, .text = "NODE"};
    default:
      return {};
  }
}

// Of one PCI device, from sysfs.
struct Site {
  fs::path path;
  std::optional<int> numa_node;
  std::string cpu_list;
};

Site FindSite(const fs::path& device) {
  std::error_code ignored;
  Site site{.path = fs::canonical(device, ignored), .numa_node = {}, .cpu_list = {}};
  const std::string numa = ReadText(site.path / "numa_node").value_or("");
  int number = -1;
  std::from_chars(numa.data(), numa.data() + numa.size(), number);
  if (number >= 0) site.numa_node = number;
  site.cpu_list = ReadText(site.path / "local_cpulist").value_or("");
  return site;
}

// The NVLinks of a GPU: how many go to each device, and to a switch.
struct Links {
  std::map<std::string, int> to_device;
  int to_switch = 0;
};

class Reader {
 public:
  Reader(const NvmlApi& api, const NvmlSources& sources) : api_(api), sources_(sources) {}

  void Read(GpuTopology* topology) {
    topology_ = topology;
    unsigned count = 0;
    if (!Succeeds("the number of GPUs", api_.device_count(&count))) return;
    for (unsigned index = 0; index < count; ++index) AddGpu(index);
    if (topology_->gpus.empty()) topology_->unknown_because = "NVML lists no GPU";
    const std::size_t gpus = topology_->gpus.size();
    topology_->between_gpus.assign(gpus, std::vector<DevicePath>(gpus));
    for (std::size_t a = 0; a < gpus; ++a) {
      topology_->between_gpus[a][a] = *ParseDevicePath("X");
      for (std::size_t b = 0; b < a; ++b) {
        topology_->between_gpus[a][b] = topology_->between_gpus[b][a] = FindPath(a, b);
      }
    }
    AddNics();
  }

 private:
  bool Succeeds(const std::string& what, NvmlStatus status) {
    if (status == 0) return true;
    topology_->notes.push_back(
        fmt::format("NVML does not tell {}: {}", what, api_.error_string(status)));
    return false;
  }

  void AddGpu(unsigned index) {
    NvmlDevice device = nullptr;
    NvmlPciInfo pci{};
    const std::string name = fmt::format("GPU{}", index);
    if (!Succeeds(name, api_.device(index, &device))) return;
    if (!Succeeds("the place of " + name, api_.pci_info(device, &pci))) return;
    const std::string bus_id = ToSysfs(pci.bus_id);
    const Site site = FindSite(sources_.pci_devices / bus_id);
    topology_->gpus.push_back(
        {.name = name, .bus_id = bus_id, .numa_node = site.numa_node, .cpu_list = site.cpu_list});
    devices_.push_back(device);
    sites_.push_back(site);
    links_.push_back(FindLinks(device));
  }

  Links FindLinks(NvmlDevice device) const {
    Links links;
    for (unsigned link = 0; link < kNvmlMostLinks; ++link) {
      int is_active = 0;
      if (api_.link_state(device, link, &is_active) != 0 || is_active == 0) continue;
      int type = 0;
      NvmlPciInfo peer{};
      if (api_.link_type(device, link, &type) == 0 && type == kNvmlLinkToSwitch) {
        ++links.to_switch;
      } else if (api_.link_peer(device, link, &peer) == 0) {
        ++links.to_device[ToSysfs(peer.bus_id)];
      }
    }
    return links;
  }

  DevicePath FindPath(std::size_t a, std::size_t b) {
    const auto direct = links_[a].to_device.find(topology_->gpus[b].bus_id);
    const int links = (direct == links_[a].to_device.end() ? 0 : direct->second) +
                      std::min(links_[a].to_switch, links_[b].to_switch);
    if (links > 0) return {.level = GpuLevel::kNvlink, .text = fmt::format("NV{}", links)};
    int level = 0;
    const std::string what =
        fmt::format("the way from {} to {}", topology_->gpus[a].name, topology_->gpus[b].name);
    if (!Succeeds(what, api_.common_ancestor(devices_[a], devices_[b], &level))) return {};
    return PathOfAncestor(level);
  }

  void AddNics() {
    std::error_code none;
    std::vector<fs::path> cards;
    for (const auto& entry : fs::directory_iterator(sources_.infiniband, none)) {
      cards.push_back(entry.path());
    }
    std::ranges::sort(cards);
    topology_->to_nics.assign(topology_->gpus.size(), {});
    for (const fs::path& card : cards) {
      const Site site = FindSite(card / "device");
      const std::string rate = ReadText(card / "ports" / "1" / "rate").value_or("");
      const double gbit_s = std::strtod(rate.c_str(), nullptr);  // "400 Gb/sec (4X NDR)"
      topology_->nics.push_back({.name = fmt::format("NIC{}", topology_->nics.size()),
                                 .device = card.filename().string(),
                                 .gbit_s = gbit_s > 0 ? std::optional(gbit_s) : std::nullopt});
      for (std::size_t gpu = 0; gpu < sites_.size(); ++gpu) {
        topology_->to_nics[gpu].push_back(FindPciPath(sites_[gpu].path,
                                                      sites_[gpu].numa_node.value_or(-1), site.path,
                                                      site.numa_node.value_or(-1)));
      }
    }
  }

  const NvmlApi& api_;
  const NvmlSources& sources_;
  GpuTopology* topology_ = nullptr;
  std::vector<NvmlDevice> devices_;
  std::vector<Site> sites_;
  std::vector<Links> links_;
};

// The parts of a path from the host bridge on: "pci0000:a0", then bridges, then the device.
std::vector<std::string> FromHostBridge(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path) {
    const std::string text = part.string();
    if (!parts.empty() || text.starts_with("pci")) parts.push_back(text);
  }
  return parts;
}

}  // namespace

DevicePath FindPciPath(const fs::path& a, int numa_a, const fs::path& b, int numa_b) {
  const std::vector<std::string> parts_a = FromHostBridge(a);
  const std::vector<std::string> parts_b = FromHostBridge(b);
  const auto [end_a, end_b] = std::ranges::mismatch(parts_a, parts_b);
  const auto common = static_cast<std::size_t>(end_a - parts_a.begin());
  if (parts_a.empty() || parts_b.empty() || common == 0) {
    const bool one_node = numa_a >= 0 && numa_a == numa_b;
    return *ParseDevicePath(one_node ? "NODE" : "SYS");
  }
  if (common == 1) return *ParseDevicePath("PHB");
  // Bridges of their own below the last common one; a switch has one of each way out.
  const std::size_t own = std::max(parts_a.size() - common, parts_b.size() - common);
  return *ParseDevicePath(own <= 2 ? "PIX" : "PXB");
}

GpuTopology ReadNvmlTopology(const NvmlSources& sources) {
  GpuTopology topology;
  topology.source = "NVML";
  NvmlApi api;
  topology.unknown_because = NvmlApi::Load(sources.library, &api);
  if (!topology.unknown_because.empty()) return topology;
  if (const NvmlStatus status = api.init(); status != 0) {
    topology.unknown_because = fmt::format("NVML: {}", api.error_string(status));
    return topology;
  }
  std::array<char, 96> driver{};
  if (api.driver_version(driver.data(), driver.size()) == 0) {
    topology.source = fmt::format("NVML, driver {}", driver.data());
  }
  Reader(api, sources).Read(&topology);
  api.shutdown();
  return topology;
}

}  // namespace hockney
