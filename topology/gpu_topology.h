#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/levels.h"

namespace hockney {

// The way between two devices of a host.
struct DevicePath {
  GpuLevel level = GpuLevel::kSocket;
  std::string text =
      "SYS";  // in nvidia-smi's words, which tell more than the level: PIX, PXB, NV18
};

// Returns the path that nvidia-smi writes as `text`: X, NV18, XGMI, PIX, PXB, PHB, NODE, SYS, SOC;
// empty for any other text.
std::optional<DevicePath> ParseDevicePath(std::string_view text);

// Returns the farther one of two paths between the same devices.
const DevicePath& Farther(const DevicePath& a, const DevicePath& b);

// GPUs and network cards of one host, from a file. An empty text or optional is not known.
struct GpuTopology {
  struct Gpu {
    std::string name = {};    // "GPU0"
    std::string bus_id = {};  // "0000:a4:00.0"
    std::optional<int> numa_node = {};
    std::string cpu_list = {};  // CPUs beside it: "0-47,96-143"
  };
  struct Nic {
    std::string name = {};              // "NIC0"
    std::string device = {};            // "mlx5_0"
    std::optional<double> gbit_s = {};  // rate, 1e9 bits a second
  };

  std::string source = {};
  std::string unknown_because = {};  // why nothing is known; not the same as no GPU or no NIC
  std::vector<Gpu> gpus = {};
  std::vector<Nic> nics = {};
  std::vector<std::vector<DevicePath>> between_gpus = {};  // [gpu][gpu], symmetric
  std::vector<std::vector<DevicePath>> to_nics = {};       // [gpu][nic]
  std::vector<std::string> notes = {};                     // what was odd, and how it was taken
};

// Returns the indices of the NICs nearest to a GPU; none where all of several are equally far,
// since then it cannot be told.
std::vector<int> NearestNics(const GpuTopology& topology, int gpu);

}  // namespace hockney
