#include "collectives/baselines/mpi/mpi_algorithms.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <stdexcept>

namespace hockney {
namespace {

constexpr MpiFamily kOpenMpi = MpiFamily::kOpenMpi;
constexpr MpiFamily kMpich = MpiFamily::kMpich;

constexpr MpiAlgorithm kAlgorithms[] = {
    {kOpenMpi, Collective::kAllReduce, "basic_linear", 1},
    {kOpenMpi, Collective::kAllReduce, "nonoverlapping", 2},
    {kOpenMpi, Collective::kAllReduce, "recursive_doubling", 3},
    {kOpenMpi, Collective::kAllReduce, "ring", 4},
    {kOpenMpi, Collective::kAllReduce, "segmented_ring", 5},
    {kOpenMpi, Collective::kAllReduce, "rabenseifner", 6},
    {kOpenMpi, Collective::kAllReduce, "allgather_reduce", 7},  // from 5.1 on
    {kOpenMpi, Collective::kReduceScatter, "basic_linear", 1},
    {kOpenMpi, Collective::kReduceScatter, "recursive_doubling", 2},
    {kOpenMpi, Collective::kReduceScatter, "recursive_halving", 3},
    {kOpenMpi, Collective::kReduceScatter, "butterfly", 4},
    {kOpenMpi, Collective::kAllGather, "linear", 1},
    {kOpenMpi, Collective::kAllGather, "bruck", 2},
    {kOpenMpi, Collective::kAllGather, "recursive_doubling", 3},
    {kOpenMpi, Collective::kAllGather, "ring", 4},
    {kOpenMpi, Collective::kAllGather, "neighbor", 5},
    {kOpenMpi, Collective::kAllGather, "two_proc", 6},
    {kOpenMpi, Collective::kAllGather, "sparbit", 7},           // from 5.0 on
    {kOpenMpi, Collective::kAllGather, "direct-messaging", 8},  // from 5.0 on
    {kOpenMpi, Collective::kAllToAll, "linear", 1},
    {kOpenMpi, Collective::kAllToAll, "pairwise", 2},
    {kOpenMpi, Collective::kAllToAll, "modified_bruck", 3},
    {kOpenMpi, Collective::kAllToAll, "linear_sync", 4},
    {kOpenMpi, Collective::kAllToAll, "two_proc", 5},
    {kOpenMpi, Collective::kAllToAllV, "basic_linear", 1},
    {kOpenMpi, Collective::kAllToAllV, "pairwise", 2},
    {kOpenMpi, Collective::kBroadcast, "basic_linear", 1},
    {kOpenMpi, Collective::kBroadcast, "chain", 2},
    {kOpenMpi, Collective::kBroadcast, "pipeline", 3},
    {kOpenMpi, Collective::kBroadcast, "split_binary_tree", 4},
    {kOpenMpi, Collective::kBroadcast, "binary_tree", 5},
    {kOpenMpi, Collective::kBroadcast, "binomial", 6},
    {kOpenMpi, Collective::kBroadcast, "knomial", 7},
    {kOpenMpi, Collective::kBroadcast, "scatter_allgather", 8},
    {kOpenMpi, Collective::kBroadcast, "scatter_allgather_ring", 9},
    {kOpenMpi, Collective::kReduce, "linear", 1},
    {kOpenMpi, Collective::kReduce, "chain", 2},
    {kOpenMpi, Collective::kReduce, "pipeline", 3},
    {kOpenMpi, Collective::kReduce, "binary", 4},
    {kOpenMpi, Collective::kReduce, "binomial", 5},
    {kOpenMpi, Collective::kReduce, "in-order_binary", 6},
    {kOpenMpi, Collective::kReduce, "rabenseifner", 7},
    {kOpenMpi, Collective::kReduce, "knomial", 8},  // from 5.1 on
    {kOpenMpi, Collective::kGather, "basic_linear", 1},
    {kOpenMpi, Collective::kGather, "binomial", 2},
    {kOpenMpi, Collective::kGather, "linear_sync", 3},
    {kOpenMpi, Collective::kScatter, "basic_linear", 1},
    {kOpenMpi, Collective::kScatter, "binomial", 2},
    {kOpenMpi, Collective::kScatter, "linear_nb", 3},
    {kOpenMpi, Collective::kBarrier, "linear", 1},
    {kOpenMpi, Collective::kBarrier, "double_ring", 2},
    {kOpenMpi, Collective::kBarrier, "recursive_doubling", 3},
    {kOpenMpi, Collective::kBarrier, "bruck", 4},
    {kOpenMpi, Collective::kBarrier, "two_proc", 5},
    {kOpenMpi, Collective::kBarrier, "tree", 6},
    {kMpich, Collective::kAllReduce, "nb"},
    {kMpich, Collective::kAllReduce, "smp"},
    {kMpich, Collective::kAllReduce, "recursive_doubling"},
    {kMpich, Collective::kAllReduce, "reduce_scatter_allgather"},
    {kMpich, Collective::kAllReduce, "tree"},  // from 4.1 on, as are the next
    {kMpich, Collective::kAllReduce, "recexch"},
    {kMpich, Collective::kAllReduce, "ring"},
    {kMpich, Collective::kAllReduce, "k_reduce_scatter_allgather"},
    {kMpich, Collective::kReduceScatter, "noncommutative"},
    {kMpich, Collective::kReduceScatter, "recursive_doubling"},
    {kMpich, Collective::kReduceScatter, "pairwise"},
    {kMpich, Collective::kReduceScatter, "recursive_halving"},
    {kMpich, Collective::kReduceScatter, "nb"},
    {kMpich, Collective::kAllGather, "brucks"},
    {kMpich, Collective::kAllGather, "k_brucks"},  // from 4.1 on
    {kMpich, Collective::kAllGather, "nb"},
    {kMpich, Collective::kAllGather, "recursive_doubling"},
    {kMpich, Collective::kAllGather, "ring"},
    {kMpich, Collective::kAllGather, "recexch_doubling"},  // from 4.1 on
    {kMpich, Collective::kAllGather, "recexch_halving"},   // from 4.1 on
    {kMpich, Collective::kAllToAll, "brucks"},
    {kMpich, Collective::kAllToAll, "k_brucks"},  // from 4.1 on
    {kMpich, Collective::kAllToAll, "nb"},
    {kMpich, Collective::kAllToAll, "pairwise"},
    {kMpich, Collective::kAllToAll, "pairwise_sendrecv_replace"},
    {kMpich, Collective::kAllToAll, "scattered"},
    {kMpich, Collective::kAllToAllV, "nb"},
    {kMpich, Collective::kAllToAllV, "pairwise_sendrecv_replace"},
    {kMpich, Collective::kAllToAllV, "scattered"},
    {kMpich, Collective::kBroadcast, "binomial"},
    {kMpich, Collective::kBroadcast, "nb"},
    {kMpich, Collective::kBroadcast, "smp"},
    {kMpich, Collective::kBroadcast, "scatter_recursive_doubling_allgather"},
    {kMpich, Collective::kBroadcast, "scatter_ring_allgather"},
    {kMpich, Collective::kBroadcast, "pipelined_tree"},  // from 4.1 on, as is the next
    {kMpich, Collective::kBroadcast, "tree"},
    {kMpich, Collective::kReduce, "binomial"},
    {kMpich, Collective::kReduce, "nb"},
    {kMpich, Collective::kReduce, "smp"},
    {kMpich, Collective::kReduce, "reduce_scatter_gather"},
    {kMpich, Collective::kGather, "binomial"},
    {kMpich, Collective::kGather, "nb"},
    {kMpich, Collective::kScatter, "binomial"},
    {kMpich, Collective::kScatter, "nb"},
    {kMpich, Collective::kBarrier, "nb"},
    {kMpich, Collective::kBarrier, "smp"},
    {kMpich, Collective::kBarrier,
     "dissemination"},  // k_dissemination and others in later versions
    {kMpich, Collective::kBarrier, "k_dissemination"},
    {kMpich, Collective::kBarrier, "recexch"},
};

std::string Instead(std::string_view other, std::string_view why) {
  return fmt::format("Open MPI runs {} instead: {}", other, why);
}

constexpr std::string_view kFewElements = "fewer elements than ranks";

std::string WhyAnotherAllReduce(const ForcedCall& call, std::string_view name) {
  const auto ranks = static_cast<unsigned>(call.ranks);
  if (name == "ring" && call.count < ranks) return Instead("recursive_doubling", kFewElements);
  if (name == "rabenseifner" && call.count < std::bit_floor(ranks)) {
    return Instead("basic_linear", "fewer elements than the power of two within the ranks");
  }
  if (name != "segmented_ring") return "";
  const auto segment = static_cast<std::size_t>(call.segment_bytes);
  if (segment < call.element_bytes) {
    return Instead("ring", "there is no segment size (coll_tuned_allreduce_algorithm_segmentsize)");
  }
  const std::uint64_t segment_count = segment / call.element_bytes;
  if (call.count / ranks >= segment_count) return "";
  return Instead("ring", "a rank's share is shorter than a segment");
}

std::string WhyAnotherBroadcast(const ForcedCall& call, std::string_view name) {
  if (name.starts_with("scatter_allgather") && call.count < static_cast<unsigned>(call.ranks)) {
    return Instead("basic_linear", kFewElements);
  }
  if (name != "split_binary_tree") return "";
  const std::uint64_t half = call.count / 2 * call.element_bytes;
  if (call.count >= 2 && static_cast<std::uint64_t>(call.segment_bytes) <= half) return "";
  return Instead("chain", "half of the message is shorter than a segment");
}

}  // namespace

MpiFamily FamilyOf(std::string_view library) {
  if (library.starts_with("Open MPI")) return MpiFamily::kOpenMpi;
  if (library.starts_with("MPICH")) return MpiFamily::kMpich;
  return MpiFamily::kOther;
}

std::span<const MpiAlgorithm> AllMpiAlgorithms() { return kAlgorithms; }

std::string_view MpiNameOf(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "allreduce";
    case Collective::kReduceScatter:
      return "reduce_scatter_block";
    case Collective::kAllGather:
      return "allgather";
    case Collective::kAllToAll:
      return "alltoall";
    case Collective::kAllToAllV:
      return "alltoallv";
    case Collective::kBroadcast:
      return "bcast";
    case Collective::kReduce:
      return "reduce";
    case Collective::kGather:
      return "gather";
    case Collective::kScatter:
      return "scatter";
    case Collective::kBarrier:
      return "barrier";
    case Collective::kSendRecv:
      return "";
  }
  throw std::invalid_argument("unknown collective");
}

std::string MpichVariable(Collective collective, std::string_view suffix) {
  std::string name(MpiNameOf(collective));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format("MPIR_CVAR_{}_{}", name, suffix);
}

std::optional<int> OpenMpiId(Collective collective, std::string_view name) {
  const auto* const found = std::find_if(
      std::begin(kAlgorithms), std::end(kAlgorithms), [&](const MpiAlgorithm& algorithm) {
        return algorithm.family == kOpenMpi && algorithm.collective == collective &&
               algorithm.name == name;
      });
  if (found == std::end(kAlgorithms)) return std::nullopt;
  return found->id;
}

std::string WhyOpenMpiRunsAnother(const ForcedCall& call, std::string_view name) {
  if (call.ranks < 2) return "one rank: Open MPI asks no algorithm";
  if (name == "two_proc" && call.ranks != 2) return "Open MPI refuses it: two_proc is for 2 ranks";
  const auto ranks = static_cast<unsigned>(call.ranks);
  switch (call.collective) {
    case Collective::kAllReduce:
      return WhyAnotherAllReduce(call, name);
    case Collective::kBroadcast:
      return WhyAnotherBroadcast(call, name);
    case Collective::kReduce:
      if (name != "rabenseifner" || call.count >= std::bit_floor(ranks)) return "";
      return Instead("linear", "fewer elements than the power of two within the ranks");
    case Collective::kAllGather:
      if (name == "recursive_doubling" && !std::has_single_bit(ranks)) {
        return Instead("bruck", "the number of ranks is no power of two");
      }
      if (name == "neighbor" && ranks % 2 != 0) {
        return Instead("ring", "the number of ranks is odd");
      }
      return "";
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kBarrier:
    case Collective::kSendRecv:
      return "";
  }
  throw std::invalid_argument("unknown collective");
}

}  // namespace hockney
