#pragma once

#include <string>
#include <vector>

#include "topology/gpu_topology.h"
#include "topology/session.h"
#include "topology/topology.h"

namespace hockney {

// Who says which hosts share a rack; at most one of the files.
struct TopologySources {
  std::string cluster_file = {};    // a cluster file's path
  std::string slurm_topology = {};  // the path of a Slurm topology.conf
};

// Returns what the sources say, the same on every rank: the one file given, read by rank 0 alone,
// since it need not be on every host; without one the cluster file that rank 0's variable
// HOCKNEY_CLUSTER_FILE names; else an empty tree. A topology.conf is never looked for: it need not
// be that of this machine. Throws Agreed<InputError> on all ranks for a bad file. Collective.
SwitchTree ReadSwitchTree(Session& session, const TopologySources& sources);

// What a rank says of itself.
struct RankReport {
  RankSite site = {};                      // its node is found out here
  std::vector<std::string> switches = {};  // above it, nearest first (ParseSlurmAddress)
};

// Returns what this thread, which is pinned by now, says of itself: its host's name, the cache and
// NUMA node of the CPUs it may run on, and the switches that Slurm's SLURM_TOPOLOGY_ADDR names.
// Threads of one process share the look at the machine. Collective over `local`.
RankReport ReportOfThisRank(Session& local);

// Makes the site that of a rank on the GPU with this bus id, with the ways from there.
void AddGpu(const GpuTopology& gpus, const std::string& bus_id, RankSite* site);

// Returns the topology of all ranks of `session`. Ranks in one `local` (SplitSharedMemory) share a
// host, whatever else they have in common: ranks of one kernel may lie in different network
// namespaces. An empty tree is made from the reports' switches if every rank has some. Collective.
Topology CollectTopology(Session& session, Session& local, const RankReport& mine, SwitchTree tree);

// All of it: ReadSwitchTree, ReportOfThisRank and CollectTopology. Collective.
Topology CollectTopology(Session& session, Session& local, const TopologySources& sources = {});

}  // namespace hockney
