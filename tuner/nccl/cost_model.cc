#include "tuner/nccl/cost_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "tuner/plugin/tuner_abi.h"

namespace hockney::nccl {
namespace {

template <class Enum>
constexpr std::size_t Index(Enum value) {
  return static_cast<std::size_t>(value);
}

std::size_t ScaleOf(int nodes) { return static_cast<std::size_t>(std::min(nodes, 3) - 1); }

int FloorLog2(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }

// A rate under a cap, if there is one.
double Under(double rate, const Number& cap) { return cap ? std::min(rate, *cap) : rate; }
double Under(double rate, const Number& cap_per_channel, int channels) {
  return cap_per_channel ? std::min(rate, *cap_per_channel * channels) : rate;
}

bool IsGatherOrScatter(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
}

// Steps of a ring, and how many of them cross nodes.
int RingSteps(Collective collective, int places) {
  if (collective == Collective::kAllReduce) return 2 * (places - 1);
  return IsGatherOrScatter(collective) ? places - 1 : places;
}

bool IsOffered(const System& system, Collective collective, Algorithm algorithm,
               Protocol protocol) {
  const bool is_modelled = collective == Collective::kAllReduce || IsGatherOrScatter(collective) ||
                           collective == Collective::kBroadcast ||
                           collective == Collective::kReduce;
  if (!is_modelled || system.ranks == 1 || system.graphs[Index(algorithm)].channels == 0) {
    return false;
  }
  if (protocol == Protocol::kLl128 && !system.has_ll128) return false;
  switch (algorithm) {
    case Algorithm::kRing:
      return true;
    case Algorithm::kTree:
      return collective == Collective::kAllReduce;
    case Algorithm::kNvls:
      return protocol == Protocol::kSimple && system.has_nvls && system.nodes == 1 &&
             (collective == Collective::kAllReduce || IsGatherOrScatter(collective));
    case Algorithm::kNvlsTree:
      return protocol == Protocol::kSimple && system.has_nvls && system.nodes > 1 &&
             collective == Collective::kAllReduce;
    case Algorithm::kPat:
      return protocol == Protocol::kSimple && system.nodes == system.ranks &&
             IsGatherOrScatter(collective);
    case Algorithm::kCollNetDirect:
    case Algorithm::kCollNetChain:
      return false;
  }
  throw std::invalid_argument("unknown Algorithm");
}

// The rate of one channel that counts.
double ChannelGBps(const System& system, Algorithm algorithm) {
  const Graph& graph = system.graphs[Index(algorithm)];
  if (algorithm == Algorithm::kNvlsTree) {
    return std::min(graph.intra_GBps, graph.inter_GBps / (system.nodes <= 2 ? 1 : 2));
  }
  return system.nodes <= 2 ? graph.intra_GBps : graph.inter_GBps;
}

// What a ring or tree moves at, before the conversion to the size column's rate.
double BusGBps(const System& system, Algorithm algorithm, Protocol protocol) {
  const Graph& graph = system.graphs[Index(algorithm)];
  const std::size_t scale = ScaleOf(system.nodes);
  const std::size_t gpu = Index(system.generation);
  const std::size_t ll_row = system.nodes == 1 ? gpu : Index(system.ll_row_over_nodes);
  const double rate = graph.channels * ChannelGBps(system, algorithm);
  if (algorithm == Algorithm::kPat) return rate * kPatShare;
  if (algorithm == Algorithm::kRing) {
    if (protocol == Protocol::kLl) return Under(rate * kRingLlShare, kMostLl[ll_row][scale]);
    if (protocol == Protocol::kSimple) return rate;
    return Under(rate * kLl128Share, kMostRingLl128PerChannel[gpu][scale], graph.channels);
  }
  double tree = Under(rate * kTreeShare, kMostTreePerChannel[gpu][scale], graph.channels);
  if (protocol == Protocol::kLl) tree = Under(tree * kTreeLlShare, kMostLl[ll_row][scale]);
  if (protocol == Protocol::kLl128) {
    tree *= system.nodes == 1 ? kTreeLl128ShareOneNode : kTreeLl128ShareNodes;
    tree = Under(tree, kMostTreeLl128PerChannel[gpu][scale], graph.channels);
  }
  return graph.is_tree_pattern ? tree * kTreePatternShare : tree;
}

std::optional<double> NvlsGBps(const System& system, Collective collective) {
  const Graph& graph = system.graphs[Index(Algorithm::kNvls)];
  const Number& efficiency = kNvlsEfficiency[Index(system.generation)];
  if (!efficiency) return std::nullopt;
  const double channels = graph.channels;
  const double local = static_cast<double>(system.ranks) / system.nodes;
  const double rate = channels * graph.intra_GBps * *efficiency * (channels - 1) / channels;
  return rate * (collective == Collective::kAllReduce ? 2 : (local - 1) / local);
}

std::optional<double> AlgbwGBps(const System& system, Collective collective, Algorithm algorithm,
                                Protocol protocol) {
  const double ring_share = static_cast<double>(system.ranks) / RingSteps(collective, system.ranks);
  switch (algorithm) {
    case Algorithm::kTree:
      return BusGBps(system, algorithm, protocol) / 2;
    case Algorithm::kNvls: {
      const auto rate = NvlsGBps(system, collective);
      return rate ? std::optional(*rate * ring_share) : std::nullopt;
    }
    case Algorithm::kNvlsTree: {
      const int channels = system.graphs[Index(algorithm)].channels;
      const Number& cap = kMostNvlsTreePerChannel[Index(system.generation)][ScaleOf(system.nodes)];
      return Under(channels * ChannelGBps(system, algorithm), cap, channels) / 2;
    }
    default:
      return BusGBps(system, algorithm, protocol) * ring_share;
  }
}

// Latencies of a step: within a node, and between nodes.
struct Steps {
  double intra = 0;
  double inter = 0;
};

std::optional<Steps> StepsOf(const System& system, Algorithm algorithm, Protocol protocol) {
  const std::size_t row = Index(algorithm);
  const std::size_t column = Index(protocol);
  const bool has_local = system.ranks > system.nodes;
  const Number& intra = kHardwareLatencies[Index(system.intra)][row][column];
  // With one rank a node nothing hides the network, so NCCL takes the longer latency of trees.
  const std::size_t inter_row = has_local ? row : Index(Algorithm::kTree);
  const Number& inter = kHardwareLatencies[Index(Hardware::kNet)][inter_row][column];
  if ((has_local && !intra) || (system.nodes > 1 && !inter)) return std::nullopt;
  const double device = system.graphs[row].inter_latency_us;
  const double extra = protocol == Protocol::kSimple ? 2 * device : device;
  return Steps{.intra = intra.value_or(0),
               .inter = system.nodes > 1 ? *inter + extra : intra.value_or(0)};
}

std::optional<double> LatencyUs(const System& system, Collective collective, Algorithm algorithm,
                                Protocol protocol) {
  const auto steps = StepsOf(system, algorithm, protocol);
  if (!steps) return std::nullopt;
  const double base = *kBaseLatencies[Index(algorithm)][Index(protocol)];
  const int levels = FloorLog2(system.nodes);
  switch (algorithm) {
    case Algorithm::kTree: {
      const int chain = system.ranks / system.nodes - 1;
      return base + 2 * (chain * steps->intra + levels * steps->inter);
    }
    case Algorithm::kNvls:
      return base + steps->intra;
    case Algorithm::kNvlsTree:
      return base + steps->intra + 2 * levels * steps->inter;
    case Algorithm::kPat:
      return base + levels * steps->inter / kPatStepsAtOnce +
             system.ranks * kPatMicrosecondsPerRank;
    default:
      break;
  }
  const int all = RingSteps(collective, system.ranks);
  if (collective == Collective::kAllReduce || IsGatherOrScatter(collective)) {
    const int between = RingSteps(collective, system.nodes);
    return base + (all - between) * steps->intra + between * steps->inter;
  }
  const Hardware hardware = system.nodes == 1 ? system.intra : Hardware::kNet;
  const Number& step =
      kHardwareLatencies[Index(hardware)][Index(Algorithm::kRing)][Index(protocol)];
  if (!step) return std::nullopt;
  return base + (system.same_channels ? 1 : all) * *step;
}

}  // namespace

std::string_view Name(Algorithm algorithm) { return tuner_abi::kAlgorithms.at(Index(algorithm)); }
std::string_view Name(Protocol protocol) { return tuner_abi::kProtocols.at(Index(protocol)); }

std::optional<Cost> CostOf(const System& system, Collective collective, Algorithm algorithm,
                           Protocol protocol) {
  if (system.nodes < 1 || system.ranks < system.nodes) {
    throw std::invalid_argument("a system of " + std::to_string(system.ranks) + " ranks on " +
                                std::to_string(system.nodes) + " nodes");
  }
  if (!IsOffered(system, collective, algorithm, protocol)) return std::nullopt;
  const auto latency = LatencyUs(system, collective, algorithm, protocol);
  const auto rate = AlgbwGBps(system, collective, algorithm, protocol);
  if (!latency || !rate || *rate <= 0) return std::nullopt;
  return Cost{.latency_us = *latency, .algbw_GBps = *rate};
}

std::optional<double> TimeUs(const System& system, const ModelCall& call, Algorithm algorithm,
                             Protocol protocol) {
  const auto cost = CostOf(system, call.collective, algorithm, protocol);
  if (!cost) return std::nullopt;
  const auto bytes = static_cast<double>(call.bytes);
  double rate = cost->algbw_GBps;
  double latency = cost->latency_us;
  const bool is_all_reduce = call.collective == Collective::kAllReduce;
  if (algorithm == Algorithm::kTree && is_all_reduce && system.tree_correction) {
    const int size = std::bit_width(call.bytes >> 6) - 1;
    if (size >= 0 && size < kTreeCorrections) {
      rate *= (*system.tree_correction)[Index(protocol)][static_cast<std::size_t>(size)];
    }
  }
  const Graph& graph = system.graphs[Index(algorithm)];
  if (algorithm == Algorithm::kRing && protocol == Protocol::kSimple && is_all_reduce &&
      system.nodes > 1 && bytes / (graph.channels * system.ranks) >= kPlateauBytes) {
    latency *= system.generation == Generation::kVolta ? kPlateauBeforeAmpere : kPlateau;
  }
  const double times = algorithm == Algorithm::kRing
                           ? call.pipe_ops
                           : std::ceil(static_cast<double>(call.pipe_ops) / system.batched_calls);
  return latency * times + bytes / (1000 * rate);
}

std::optional<Pick> PickFastest(const System& system, const ModelCall& call) {
  std::optional<Pick> best;
  for (std::size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    for (std::size_t protocol = 0; protocol < kProtocols; ++protocol) {
      Pick pick{.algorithm = static_cast<Algorithm>(algorithm),
                .protocol = static_cast<Protocol>(protocol)};
      const auto time = TimeUs(system, call, pick.algorithm, pick.protocol);
      if (!time || (best && *time >= best->time_us)) continue;
      pick.time_us = *time;
      best = pick;
    }
  }
  return best;
}

}  // namespace hockney::nccl
