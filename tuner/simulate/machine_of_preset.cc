#include "tuner/simulate/machine_of_preset.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace hockney {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;

// A copy reads and writes, and one more source of a sum is read.
void SetLaneRates(const ClusterPreset& preset, SimMachine& machine) {
  const auto& memory = preset.gpu.empty() ? preset.host_memory_GBps : preset.gpu_memory_GBps;
  if (!memory) return;
  machine.copy_seconds_per_byte = 2 / (memory->value * kGiga);
  machine.reduce_seconds_per_byte = 1 / (memory->value * kGiga);
}

void SetWithinNode(const ClusterPreset& preset, SimMachine& machine) {
  machine.node.name = preset.nvlink ? "nvlink" : preset.gpu.empty() ? "node" : "pcie";
  machine.node.by_lane = true;
  if (preset.nvlink) {
    const auto& link = *preset.nvlink;
    const double rate = link.measured_GBps ? link.measured_GBps->value : link.rate_GBps.value;
    machine.node.alpha_seconds = link.latency_us.value * kMicro;
    machine.rank_port_bytes_per_second = rate * kGiga;
  } else if (!preset.gpu.empty() && preset.pcie_GBps) {
    machine.rank_port_bytes_per_second = preset.pcie_GBps->value * kGiga;
  }
  machine.node.ll_alpha_seconds = machine.node.alpha_seconds;
}

void SetBetweenNodes(const ClusterPreset& preset, int nodes, SimMachine& machine) {
  const double all_nics = preset.nic.count.value * preset.nic.rate_GBps.value * kGiga;
  machine.rack.name = "rack";
  machine.rack.alpha_seconds = machine.rack.ll_alpha_seconds = preset.nic.latency_us.value * kMicro;
  machine.rack.bytes_per_second = machine.rack.ll_bytes_per_second =
      preset.nic.rate_GBps.value * kGiga;
  machine.node_transmit = machine.node_receive = {.bytes_per_second = all_nics};
  machine.fabric = machine.rack;
  machine.fabric.name = "fabric";
  for (const ClusterPreset::Switch& level : preset.switches) {
    const auto below = static_cast<int>(level.nodes.value);
    if (below < 2 || below >= nodes) continue;
    machine.placement.rack_of_node.resize(nodes);
    for (int node = 0; node < nodes; ++node) machine.placement.rack_of_node[node] = node / below;
    if (level.oversubscription.value > 1) {
      machine.rack_up =
          machine.rack_down = {.bytes_per_second = below * all_nics / level.oversubscription.value};
    }
    return;
  }
}

}  // namespace

SimMachine MachineOfPreset(const ClusterPreset& preset, int ranks) {
  if (ranks < 1)
    throw std::invalid_argument("ranks " + std::to_string(ranks) + ": expected 1 or more");
  const int per_node = std::max(1, static_cast<int>(preset.gpus_per_node.value));
  SimMachine machine;
  machine.placement.node_of_rank.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) machine.placement.node_of_rank[rank] = rank / per_node;
  SetLaneRates(preset, machine);
  SetWithinNode(preset, machine);
  SetBetweenNodes(preset, (ranks + per_node - 1) / per_node, machine);
  return machine;
}

}  // namespace hockney
