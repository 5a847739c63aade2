#pragma once

#include <string>
#include <string_view>

#include "topology/gpu_topology.h"

namespace hockney {

// Returns what a topology dump of NCCL or RCCL (NCCL_TOPO_DUMP_FILE) says of the GPUs and NICs of a
// host, GPUs in the order of their `dev`. GPUs with NVLink or xGMI to each other, or to NVSwitches
// both, are kNvlink apart; devices below one PCI switch kPcieSwitch (PIX through one, PXB through
// more), below one CPU kHostBridge, else kSocket. The files that clouds ship hold bare PCI devices:
// those of a GPU's or NIC's class count as one. Unknown elements are passed over. Link rates of PCI
// are left out: virtual machines report made-up ones. Throws InputError naming `file`, line and
// column for what is no XML or has no <system>.
GpuTopology ParseNcclXml(std::string_view text, std::string_view file);

// The same of the file `path`.
GpuTopology ReadNcclXml(const std::string& path);

}  // namespace hockney
