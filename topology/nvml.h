#pragma once

#include <filesystem>
#include <string>

#include "topology/gpu_topology.h"

namespace hockney {

// Where to look; tests have places of their own.
struct NvmlSources {
  std::string library = "libnvidia-ml.so.1";
  std::filesystem::path pci_devices = "/sys/bus/pci/devices";
  std::filesystem::path infiniband = "/sys/class/infiniband";
};

// Returns this host's GPUs as NVML, loaded at run time, tells them, with the NVLinks and PCI
// bridges between them; and the InfiniBand and RoCE cards with their distance from each GPU along
// the PCI tree of sysfs. What NVML does not tell is unknown, with a note. Without NVML, driver or
// GPU the topology is unknown_because. Tested against a library and a tree of our own, never on a
// GPU.
GpuTopology ReadNvmlTopology(const NvmlSources& sources = {});

// The path between two PCI devices by their places in sysfs, in nvidia-smi's words:
// "/sys/devices/pci0000:a0/0000:a0:01.0/0000:a1:00.0" names the host bridge, then the bridges on
// the way. NUMA nodes tell apart what no bridge joins; -1 is not known.
DevicePath FindPciPath(const std::filesystem::path& a, int numa_a, const std::filesystem::path& b,
                       int numa_b);

}  // namespace hockney
