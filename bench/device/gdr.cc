#include "bench/device/gdr.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "topology/concat.h"
#include "topology/gather_json.h"
#include "topology/nvml.h"

namespace hockney {
namespace {

constexpr int kFirstWithDmaBuf = 114;

// The nearest card's path from the GPU with this bus id.
std::optional<DevicePath> NearestPath(const GpuTopology& gpus, const std::string& bus_id) {
  std::optional<DevicePath> nearest;
  for (std::size_t gpu = 0; gpu < gpus.gpus.size(); ++gpu) {
    if (gpus.gpus[gpu].bus_id != bus_id) continue;
    for (const DevicePath& path : gpus.to_nics[gpu]) {
      if (!nearest || path.level < nearest->level) nearest = path;
    }
  }
  return nearest;
}

int CountEntries(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder, error);
  if (error) return 0;
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

}  // namespace

GdrFacts FindGdrFacts(Device& device, const UcxWire& wire, const GpuTopology& gpus,
                      const std::filesystem::path& sysfs) {
  GdrFacts facts;
  facts.device_reason = device.WhyNoRdma();
  facts.has_dma_buf = device.has_dma_buf();
  facts.ucx_knows_gpus = wire.KnowsGpuMemory();
  facts.ucx_version = UcxWire::Version();
  facts.has_module = std::filesystem::exists(sysfs / "module/nvidia_peermem") ||
                     std::filesystem::exists(sysfs / "module/nv_peer_mem");
  facts.nics = CountEntries(sysfs / "class/infiniband");
  facts.to_nic = NearestPath(gpus, device.id());
  return facts;
}

std::string WhyNoGdr(const GdrFacts& facts) {
  if (facts.nics == 0) return "no RDMA network card";
  if (!facts.device_reason.empty()) return facts.device_reason;
  if (!facts.ucx_knows_gpus) {
    return Concat("UCX ", facts.ucx_version / 100, ".", facts.ucx_version % 100,
                  " was built without CUDA, or finds none");
  }
  if (!facts.has_module && !(facts.has_dma_buf && facts.ucx_version >= kFirstWithDmaBuf)) {
    return "the kernel module nvidia_peermem is not loaded, and DMA-BUFs need a driver that shares "
           "them and UCX 1.14";
  }
  if (facts.to_nic && facts.to_nic->level > GpuLevel::kHostBridge) {
    return Concat("the nearest RDMA card is at distance ", facts.to_nic->text, " (",
                  Name(facts.to_nic->level), "), expected at most a host bridge");
  }
  return "";
}

std::string FirstWhyNoGdr(Session& session, Device& device, const UcxWire& wire) {
  const std::string mine = WhyNoGdr(FindGdrFacts(device, wire, ReadNvmlTopology()));
  const auto all = GatherJson(session, nlohmann::ordered_json(mine));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto reason = all[rank].get<std::string>();
    if (!reason.empty()) return Concat("rank ", rank, ": ", reason);
  }
  return "";
}

}  // namespace hockney
