#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collectives/types.h"
#include "topology/cluster_preset.h"
#include "tuner/nccl/constants.h"

namespace hockney::nccl {

// How long NCCL's collectives take on a cluster that is known by its parts only. What moves where
// follows from NCCL's own shapes: rings and chains through NVLink and NICs, a double tree over
// nodes, reductions in the NVLink switch. A time is the sum of
//   latency: NCCL's constants times its steps (cost_model.h),
//   fill: what the first pieces take through all stages of the pipeline, less what the transfer
//     holds of it already; a stage within a node is as slow as NVLink, one over nodes as the NICs,
//   transfer: the bytes over the rate of the resource that they keep longest.
// A link's rate is the preset's, at most what NCCL counts on an NVLink. Nothing is fitted, and no
// measured collective enters; bench/nccl_anchors.h sets predictions beside published measurements.
// Not modelled: fewer channels for small calls, tree's correction factors, registered buffers.

struct PredictOptions {
  bool nvls = true;  // false: NCCL_NVLS_ENABLE=0
  std::optional<Algorithm> algorithm = {};
  std::optional<Protocol> protocol = {};
  int ranks_per_node = 0;  // 0: as many as a node has GPUs
  double nvls_chunk_bytes = kNvlsChunkBytes;
};

struct Prediction {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 0;
  double latency_us = 0;
  double fill_us = 0;
  double transfer_us = 0;
  double nvlink_bytes = 0;  // that a GPU sends over NVLink (PCIe where there is none)
  double nic_bytes = 0;     // that the busiest node sends
  std::string bound = {};   // of the transfer: nvlink, pcie, nic, a switch's name, or protocol

  double time_us() const { return latency_us + fill_us + transfer_us; }
};

// One call on `ranks` GPUs; `bytes` are those of the size column.
struct PredictCall {
  Collective collective = Collective::kAllReduce;
  std::int64_t ranks = 2;
  std::uint64_t bytes = 0;
};

// Returns the fastest prediction over what NCCL offers. Throws std::invalid_argument if the preset
// has no GPUs, the ranks do not fill whole nodes, or NCCL offers nothing for the call.
Prediction Predict(const ClusterPreset& preset, const PredictCall& call,
                   const PredictOptions& options = {});

// Returns the most that one of `nodes` nodes, or a group of as many neighbours, sends of each byte
// that a double tree over the nodes reduces and broadcasts.
double TreeShare(int nodes, int group);

}  // namespace hockney::nccl
