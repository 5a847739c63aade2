#include "tuner/training/step_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace hockney {
namespace {

// A collective as every member must see it.
std::string Signature(const StepNode& node) {
  return fmt::format("{} of {} {}, root {}", Name(node.counts.collective),
                     fmt::join(node.counts.counts, "+"), Name(node.type), node.counts.root);
}

std::string CheckNodes(const StepGraph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const StepNode& node = graph.nodes[i];
    for (const int before : node.after) {
      if (before < 0 || before >= static_cast<int>(i)) {
        return fmt::format("rank {}: {} waits for node {}, which is not before it", graph.rank,
                           node.name, before);
      }
    }
    if (node.kind != StepKind::kCollective) continue;
    if (node.group < 0 || node.group >= static_cast<int>(graph.groups.size())) {
      return fmt::format("rank {}: {} has no group", graph.rank, node.name);
    }
    const auto& members = graph.groups[node.group].members;
    if (std::find(members.begin(), members.end(), graph.rank) == members.end()) {
      return fmt::format("rank {}: {} is of a group without it", graph.rank, node.name);
    }
    if (node.counts.ranks != static_cast<int>(members.size())) {
      return fmt::format("rank {}: {} is for {} ranks, its group has {}", graph.rank, node.name,
                         node.counts.ranks, members.size());
    }
  }
  return "";
}

}  // namespace

std::string_view Name(StepKind kind) {
  return kind == StepKind::kCompute ? "compute" : "collective";
}

std::string_view Name(StepWork work) {
  switch (work) {
    case StepWork::kForward:
      return "forward";
    case StepWork::kBackward:
      return "backward";
    case StepWork::kOptimizer:
      return "optimizer";
  }
  return "";
}

std::string_view Name(StepStream stream) {
  switch (stream) {
    case StepStream::kCompute:
      return "compute";
    case StepStream::kGradients:
      return "gradients";
    case StepStream::kParameters:
      return "parameters";
    case StepStream::kLayer:
      return "layer";
    case StepStream::kPipeline:
      return "pipeline";
    case StepStream::kReplicas:
      return "replicas";
  }
  return "";
}

std::int64_t SizeBytes(const StepNode& node) {
  if (node.kind != StepKind::kCollective) return 0;
  std::uint64_t elements = 0;
  for (const std::uint64_t count : node.counts.counts) elements += count;
  const auto ranks = static_cast<std::uint64_t>(node.counts.ranks);
  // nccl-tests counts what one rank gives: for all_to_all a block for every rank, and the mean
  // where blocks differ.
  if (node.counts.collective == Collective::kAllToAll) elements *= ranks;
  if (node.counts.collective == Collective::kAllToAllV) elements /= ranks;
  return static_cast<std::int64_t>(elements * ElementBytes(node.type));
}

std::string WhyNotMatched(std::span<const StepGraph> graphs) {
  // By the group, named by its family and members: each rank's calls, and who made them first.
  using Calls = std::vector<std::string>;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::pair<std::int64_t, Calls>> first;
  for (const StepGraph& graph : graphs) {
    if (std::string why = CheckNodes(graph); !why.empty()) return why;
    std::vector<Calls> mine(graph.groups.size());
    for (const StepNode& node : graph.nodes) {
      if (node.kind == StepKind::kCollective) mine[node.group].push_back(Signature(node));
    }
    for (std::size_t g = 0; g < graph.groups.size(); ++g) {
      const StepGroup& group = graph.groups[g];
      const auto [found, is_new] =
          first.try_emplace({group.family, group.members}, graph.rank, mine[g]);
      const auto& [rank, theirs] = found->second;
      if (is_new || theirs == mine[g]) continue;
      const auto [a, b] =
          std::mismatch(theirs.begin(), theirs.end(), mine[g].begin(), mine[g].end());
      return fmt::format("group {}: call {} is {} on rank {} and {} on rank {}", group.family,
                         a - theirs.begin(), a == theirs.end() ? "missing" : *a, rank,
                         b == mine[g].end() ? "missing" : *b, graph.rank);
    }
  }
  return "";
}

}  // namespace hockney
