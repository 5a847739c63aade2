#include "bench/topology_options.h"

#include <CLI/CLI.hpp>

#include "bench/options.h"

namespace hockney {

void AddTopologyOptions(CLI::App& command, TopologySources* sources) {
  command
      .add_option("--cluster-file", sources->cluster_file,
                  "Racks and pods, as JSON that rank 0 reads: {\"racks\": [{\"name\": \"rack0\", "
                  "\"hosts\": [\"h[0-3]\"]}]}. Default: what HOCKNEY_CLUSTER_FILE names, else "
                  "SLURM_TOPOLOGY_ADDR of every rank")
      ->type_name("FILE");
  command
      .add_option("--slurm-topology", sources->slurm_topology,
                  "Racks and pods from a Slurm topology.conf instead")
      ->type_name("FILE");
}

void CheckTopologyOptions(const TopologySources& sources) {
  if (sources.cluster_file.empty() || sources.slurm_topology.empty()) return;
  FailOption("--slurm-topology", sources.slurm_topology, "no --cluster-file beside it");
}

}  // namespace hockney
