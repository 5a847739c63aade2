#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "collectives/executors/cuda/device.h"
#include "collectives/wire/ucx_wire.h"
#include "topology/gpu_topology.h"
#include "topology/session.h"

namespace hockney {

// What GPUDirect RDMA needs, as one rank can tell before it is tried.
struct GdrFacts {
  std::string device_reason = {};  // Device::WhyNoRdma
  bool ucx_knows_gpus = false;
  int ucx_version = 0;       // UcxWire::Version
  bool has_module = false;   // of the kernel, that gives a GPU's memory to network cards
  bool has_dma_buf = false;  // which does the same without it, for UCX from 1.14 on
  int nics = 0;              // RDMA cards of the host
  // The path to the nearest of them; empty: not known.
  std::optional<DevicePath> to_nic = {};
};

// Asks the device and UCX; the rest is looked for under `sysfs` and in `gpus`.
GdrFacts FindGdrFacts(Device& device, const UcxWire& wire, const GpuTopology& gpus,
                      const std::filesystem::path& sysfs = "/sys");

// Why network cards cannot read and write this rank's memory, or "": the first of card, GPU, UCX,
// module and distance (farther than a host bridge the processors' link would carry it all).
std::string WhyNoGdr(const GdrFacts& facts);

// The first rank's reason, with its number, the same on all ranks; "" where every rank has all that
// is needed. Collective.
std::string FirstWhyNoGdr(Session& session, Device& device, const UcxWire& wire);

}  // namespace hockney
