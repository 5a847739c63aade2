#include "tuner/nccl/predict.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "collectives/algorithms/double_tree.h"
#include "tuner/nccl/cost_model.h"

namespace hockney::nccl {
namespace {

template <class Enum>
constexpr std::size_t Index(Enum value) {
  return static_cast<std::size_t>(value);
}

double MicrosecondsOf(double bytes, double rate_GBps) { return bytes / (rate_GBps * 1e3); }

Generation GenerationOf(const ClusterPreset& preset) {
  if (preset.generation == "volta") return Generation::kVolta;
  if (preset.generation == "ampere") return Generation::kAmpere;
  if (preset.generation == "hopper") return Generation::kHopper;
  if (preset.generation == "blackwell") return Generation::kBlackwell;
  throw std::invalid_argument("NCCL needs GPUs: the cluster \"" + preset.name + "\" has none");
}

// The parts of the cluster that a communicator uses.
struct Place {
  int ranks = 0;
  int nodes = 0;
  int local = 0;  // ranks of a node
  Generation generation = Generation::kHopper;
  bool has_nvlink = false;
  double gpu_GBps = 0;   // a GPU within its node
  double node_GBps = 0;  // the NICs of a node
};

// What NCCL can move through a GPU's links: by its own count, unless less was measured.
double GpuRate(const ClusterPreset& preset, Generation generation) {
  if (preset.nvlink) {
    const double counted = preset.nvlink->links.value * kNvlinkGBps[Index(generation)];
    const auto& measured = preset.nvlink->measured_GBps;
    return std::min(counted, measured ? measured->value : preset.nvlink->rate_GBps.value);
  }
  return preset.pcie_GBps ? preset.pcie_GBps->value : 0;
}

Place PlaceOf(const ClusterPreset& preset, std::int64_t ranks, const PredictOptions& options) {
  Place place{.generation = GenerationOf(preset)};
  const auto most = static_cast<std::int64_t>(preset.gpus_per_node.value);
  const std::int64_t local =
      options.ranks_per_node == 0 ? std::min(ranks, most) : options.ranks_per_node;
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 20;
  if (ranks < 2 || ranks > kMostRanks || local < 1 || local > most || ranks % local != 0) {
    throw std::invalid_argument(std::to_string(ranks) + " ranks, " + std::to_string(local) +
                                " a node: expected 2 to " + std::to_string(kMostRanks) +
                                " ranks on whole nodes of at most " + std::to_string(most));
  }
  place.ranks = static_cast<int>(ranks);
  place.local = static_cast<int>(local);
  place.nodes = place.ranks / place.local;
  place.has_nvlink = preset.nvlink.has_value();
  place.gpu_GBps = GpuRate(preset, place.generation);
  if (place.local > 1 && place.gpu_GBps <= 0) {
    throw std::invalid_argument("the cluster \"" + preset.name +
                                "\" has neither \"nvlink\" nor \"pcie\"");
  }
  // A GPU uses the NIC next to it.
  place.node_GBps =
      std::min<double>(place.local, preset.nic.count.value) * preset.nic.rate_GBps.value;
  return place;
}

int FloorLog2(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }

// One way to do a call.
class Way {
 public:
  Way(const ClusterPreset& preset, const Place& place, const PredictCall& call,
      const PredictOptions& options)
      : preset_(preset), place_(place), call_(call), options_(options), system_(MakeSystem()) {}

  std::optional<Prediction> Try(Algorithm algorithm, Protocol protocol) const {
    const auto cost = CostOf(system_, call_.collective, algorithm, protocol);
    if (!cost) return std::nullopt;
    Prediction prediction{
        .algorithm = algorithm, .protocol = protocol, .channels = Channels(algorithm)};
    const auto bytes = static_cast<double>(call_.bytes);
    const double model = *TimeUs(system_, {.collective = call_.collective, .bytes = call_.bytes},
                                 algorithm, protocol);
    prediction.latency_us = model - MicrosecondsOf(bytes, cost->algbw_GBps);
    AddTransfer(&prediction);
    prediction.fill_us = FillOf(prediction);
    return prediction;
  }

 private:
  System MakeSystem() const {
    System system{.ranks = place_.ranks,
                  .nodes = place_.nodes,
                  .generation = place_.generation,
                  .intra = place_.has_nvlink ? Hardware::kNvlink : Hardware::kPci,
                  .has_ll128 = place_.has_nvlink,
                  .has_nvls = options_.nvls && preset_.nvls.has_value() && place_.local > 1};
    const int channels = GraphChannels();
    const double intra = place_.local > 1 ? place_.gpu_GBps : place_.node_GBps;
    system.graphs.fill(
        {.channels = channels,
         .intra_GBps = std::min(intra, place_.nodes > 1 ? place_.node_GBps : intra) / channels,
         .inter_GBps = place_.node_GBps / channels});
    return system;
  }

  // Not known but for 8 H100, and taken alike elsewhere; over nodes one a NIC.
  int GraphChannels() const {
    if (place_.nodes == 1) return kGraphChannelsHopper;
    return std::max(1, static_cast<int>(preset_.nic.count.value));
  }

  bool IsNvls(Algorithm algorithm) const {
    return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
  }

  int Channels(Algorithm algorithm) const {
    if (IsNvls(algorithm)) {
      const ClusterPreset::Nvls& nvls = *preset_.nvls;
      return static_cast<int>((place_.nodes == 1 ? nvls.channels : nvls.channels_over_nodes).value);
    }
    return std::min(kMostChannels, kChannelsOfGraph * GraphChannels());
  }

  // Bytes that a ring moves through each link, of each byte of the size column.
  double RingShare() const {
    const double ranks = place_.ranks;
    switch (call_.collective) {
      case Collective::kAllReduce:
        return 2 * (ranks - 1) / ranks;
      case Collective::kAllGather:
      case Collective::kReduceScatter:
        return (ranks - 1) / ranks;
      default:
        return 1;
    }
  }

  double GpuShare(Algorithm algorithm) const {
    const double local = place_.local;
    switch (algorithm) {
      case Algorithm::kTree:  // up and down the chain; its ends have one way only
        return local == 1 ? 0 : local == 2 ? 1 : 2;
      case Algorithm::kNvls:
        return call_.collective == Collective::kAllReduce ? 1 + 1 / local : 1;
      case Algorithm::kNvlsTree:
        return 1 + 1 / local;
      default:
        return place_.local == 1 ? 0 : RingShare();
    }
  }

  // Of a group of neighbouring nodes.
  double NodeShare(Algorithm algorithm, int group) const {
    if (place_.nodes <= group) return 0;
    const bool is_tree = algorithm == Algorithm::kTree || algorithm == Algorithm::kNvlsTree;
    return is_tree ? TreeShare(place_.nodes, group) : RingShare();
  }

  // Of the simple protocol's or the link's rate.
  double ProtocolShare(Algorithm algorithm, Protocol protocol) const {
    switch (algorithm) {
      case Algorithm::kRing:
        return protocol == Protocol::kLl      ? kRingLlShare
               : protocol == Protocol::kLl128 ? kLl128Share
                                              : 1;
      case Algorithm::kTree: {
        const double ll128 = place_.nodes == 1 ? kTreeLl128ShareOneNode : kTreeLl128ShareNodes;
        return kTreeShare * (protocol == Protocol::kLl      ? kTreeLlShare
                             : protocol == Protocol::kLl128 ? ll128
                                                            : 1);
      }
      case Algorithm::kPat:
        return kPatShare;
      default:
        return 1;
    }
  }

  double GpuRateOf(Algorithm algorithm) const {
    return place_.gpu_GBps * (IsNvls(algorithm) ? *kNvlsEfficiency[Index(place_.generation)] : 1);
  }

  void AddTransfer(Prediction* prediction) const {
    const auto bytes = static_cast<double>(call_.bytes);
    const Algorithm algorithm = prediction->algorithm;
    const double share = ProtocolShare(algorithm, prediction->protocol);
    const auto consider = [&](double time, const std::string& bound) {
      if (time <= prediction->transfer_us) return;
      prediction->transfer_us = time;
      prediction->bound = bound;
    };
    prediction->nvlink_bytes = bytes * GpuShare(algorithm);
    prediction->nic_bytes = bytes * NodeShare(algorithm, 1);
    if (place_.local > 1) {
      consider(MicrosecondsOf(prediction->nvlink_bytes, GpuRateOf(algorithm)) / share,
               place_.has_nvlink ? "nvlink" : "pcie");
    }
    consider(MicrosecondsOf(prediction->nic_bytes, place_.node_GBps) / share, "nic");
    for (const ClusterPreset::Switch& level : preset_.switches) {
      const int group = static_cast<int>(level.nodes.value);
      const double up = group * place_.node_GBps / level.oversubscription.value;
      consider(MicrosecondsOf(bytes * NodeShare(algorithm, group), up) / share, level.name);
    }
    // NCCL's caps on what LL and LL128 reach stand in its model.
    const auto model = CostOf(system_, call_.collective, algorithm, prediction->protocol);
    if (prediction->protocol != Protocol::kSimple) {
      consider(MicrosecondsOf(bytes, model->algbw_GBps), "protocol");
    }
  }

  // Bytes of a channel that move as one.
  double ChunkBytes(const Prediction& prediction) const {
    const auto bytes = static_cast<double>(call_.bytes);
    const double channels = prediction.channels;
    double chunk = kSlotBytes[Index(prediction.protocol)];
    const auto shorten = [&](const auto& rules, double at_once) {
      for (const ChunkRule& rule : rules) {
        if (bytes < rule.loops * at_once * chunk) chunk = std::min(chunk, rule.chunk_bytes);
      }
    };
    if (prediction.algorithm == Algorithm::kNvls) {
      chunk = std::min(chunk, options_.nvls_chunk_bytes);
      shorten(kNvlsChunks, channels * place_.local);
    } else if (prediction.algorithm == Algorithm::kNvlsTree) {
      chunk = options_.nvls_chunk_bytes;
      if (place_.nodes >= 4 && chunk == kNvlsChunkBytes) chunk = kNvlsTreeChunkBytes;
      shorten(kNvlsTreeChunks, channels * place_.local);
    } else if (prediction.algorithm == Algorithm::kTree) {
      const int depth = place_.local - 1 + FloorLog2(place_.nodes);
      for (const ChunkRule& rule : kTreeChunks) {
        while (chunk > rule.chunk_bytes && bytes / (channels * chunk) < rule.loops * depth) {
          chunk /= 2;
        }
      }
    }
    return chunk;
  }

  // How many stages a piece passes one after the other.
  struct Stages {
    int local = 0;  // within a node
    int net = 0;    // over nodes
  };
  Stages StagesOf(Algorithm algorithm) const {
    const int levels = FloorLog2(place_.nodes);
    switch (algorithm) {
      case Algorithm::kTree:  // up and down
        return {.local = 2 * (place_.local - 1), .net = 2 * levels};
      case Algorithm::kNvls:  // copy in, reduce and broadcast, copy out
        return {.local = 3};
      case Algorithm::kNvlsTree:  // copy in, reduce, up, down, broadcast, copy out
        return {.local = 4, .net = 2 * levels};
      case Algorithm::kRing:
        if (call_.collective == Collective::kBroadcast || call_.collective == Collective::kReduce) {
          return {.local = place_.ranks - place_.nodes, .net = place_.nodes - 1};
        }
        return {};  // every step moves another part, so that no link waits for the first
      default:
        return {};
    }
  }

  double FillOf(const Prediction& prediction) const {
    const Stages stages = StagesOf(prediction.algorithm);
    if (stages.local + stages.net == 0 || call_.bytes == 0) return 0;
    const auto bytes = static_cast<double>(call_.bytes);
    const double heads = IsNvls(prediction.algorithm) ? place_.local : 1;
    const double loop = std::min(bytes, ChunkBytes(prediction) * prediction.channels * heads);
    const double share = ProtocolShare(prediction.algorithm, prediction.protocol);
    double first = 0;
    if (stages.local > 0) {
      first += stages.local * MicrosecondsOf(loop, GpuRateOf(prediction.algorithm));
    }
    if (stages.net > 0) first += stages.net * MicrosecondsOf(loop, place_.node_GBps);
    return std::max(0.0, first / share - prediction.transfer_us * loop / bytes);
  }

  const ClusterPreset& preset_;
  const Place& place_;
  const PredictCall& call_;
  const PredictOptions& options_;
  System system_;
};

}  // namespace

double TreeShare(int nodes, int group) {
  const int groups = (nodes + group - 1) / group;
  std::vector<double> sent(static_cast<std::size_t>(groups), 0);
  for (int node = 0; node < nodes; ++node) {
    for (const TreeNode& place : FindDoubleTree(nodes, node)) {
      if (place.parent < 0 || place.parent / group == node / group) continue;
      sent[static_cast<std::size_t>(node / group)] += 0.5;          // up
      sent[static_cast<std::size_t>(place.parent / group)] += 0.5;  // down
    }
  }
  return *std::max_element(sent.begin(), sent.end());
}

Prediction Predict(const ClusterPreset& preset, const PredictCall& call,
                   const PredictOptions& options) {
  const Place place = PlaceOf(preset, call.ranks, options);
  const Way way(preset, place, call, options);
  std::optional<Prediction> best;
  for (std::size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (std::size_t protocol = 0; protocol < kProtocols; ++protocol) {
      const auto as_algorithm = static_cast<Algorithm>(algorithm);
      const auto as_protocol = static_cast<Protocol>(protocol);
      if (options.algorithm.value_or(as_algorithm) != as_algorithm) continue;
      if (options.protocol.value_or(as_protocol) != as_protocol) continue;
      const auto prediction = way.Try(as_algorithm, as_protocol);
      if (prediction && (!best || prediction->time_us() < best->time_us())) best = prediction;
    }
  }
  if (!best) {
    throw std::invalid_argument("NCCL has no such " + std::string(hockney::Name(call.collective)) +
                                " on " + std::to_string(call.ranks) + " ranks of " + preset.name);
  }
  return *best;
}

}  // namespace hockney::nccl
