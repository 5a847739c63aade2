#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "collectives/types.h"
#include "tuner/nccl/constants.h"

namespace hockney::nccl {

// NCCL's own model of time, by which it chooses algorithm and protocol: latency + bytes /
// bandwidth. It is not how long a call takes; for that see predict.h. Source: NCCL 2.28.9,
// src/graph/tuning.cc.

// As in the CSV of tuner rules: tree, ring, ..., nvls_tree, pat; ll, ll128, simple.
std::string_view Name(Algorithm algorithm);
std::string_view Name(Protocol protocol);

// What NCCL's search found for one algorithm; NCCL prints it with NCCL_DEBUG_SUBSYS=GRAPH.
struct Graph {
  int channels = 0;              // 0: none
  double intra_GBps = 0;         // a channel, within a node
  double inter_GBps = 0;         // a channel, between nodes
  double inter_latency_us = 0;   // of the network device; Simple pays it twice (flush)
  bool is_tree_pattern = false;  // "Pattern 3", rather than a balanced or split tree
};

// Where a communicator runs, as far as the model asks.
struct System {
  int ranks = 1;
  int nodes = 1;
  Generation generation = Generation::kHopper;
  Hardware intra = Hardware::kNvlink;
  bool same_channels = true;  // of rings
  bool has_ll128 = true;      // NVLink within nodes and NICs near GPUs
  bool has_nvls = false;
  // Over nodes NCCL takes the cap of LL from a row that the vendor of the CPUs decides.
  Generation ll_row_over_nodes = Generation::kVolta;
  // By size (log2(bytes / 64)) and protocol NCCL corrects the bandwidth of tree. Its 69 factors lie
  // between 0.4 and 1; they are left out unless given.
  std::optional<std::array<std::array<double, kTreeCorrections>, kProtocols>> tree_correction = {};
  int batched_calls = 1;  // NCCL_MAX_DEV_WORK_BATCH_COLLS
  std::array<Graph, kAlgorithms> graphs = {};
};

struct Cost {
  double latency_us = 0;
  double algbw_GBps = 0;  // size column over time, without the latency
};

// Returns the model's cost; nothing where NCCL would not do it: tree but for all_reduce, broadcast
// and reduce but by ring, nvls over nodes (which needs a network that reduces), nvls_tree on one
// node, pat unless each node has one rank; and the collnet algorithms, which are not modelled.
// Nothing either where a constant is not known. Throws std::invalid_argument unless 1 <= nodes <=
// ranks.
std::optional<Cost> CostOf(const System& system, Collective collective, Algorithm algorithm,
                           Protocol protocol);

// A call of `bytes` of the size column.
struct ModelCall {
  Collective collective = Collective::kAllReduce;
  std::uint64_t bytes = 0;
  int pipe_ops = 1;  // calls of a group over the channels
};

// Returns the model's time in microseconds, or nothing as CostOf.
std::optional<double> TimeUs(const System& system, const ModelCall& call, Algorithm algorithm,
                             Protocol protocol);

struct Pick {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  double time_us = 0;
};

// Returns the first of the fastest in the model, as NCCL does; nothing if there is none.
std::optional<Pick> PickFastest(const System& system, const ModelCall& call);

}  // namespace hockney::nccl
