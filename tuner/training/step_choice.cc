#include "tuner/training/step_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "collectives/levels.h"

namespace hockney {
namespace {

constexpr std::uint64_t kLatencyBound = 32 * 1024;  // bytes

bool HasSeveralRanksANode(const RankPlacement* placement) {
  if (placement == nullptr) return false;
  const auto nodes = RanksByNode(*placement);
  return nodes.size() > 1 && std::any_of(nodes.begin(), nodes.end(),
                                         [](const auto& ranks) { return ranks.size() > 1; });
}

std::string_view FlatName(Collective collective, std::uint64_t bytes) {
  switch (collective) {
    case Collective::kAllReduce:
      return bytes < kLatencyBound ? "recursive_doubling" : "ring";
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return "pairwise";
    default:
      return "ring";
  }
}

}  // namespace

std::string StepChoice::Name() const {
  std::string name(row->name);
  if (parameters.levels != Levels{}) name = NameOf(parameters.levels);
  return parameters.lanes == 1 ? name : fmt::format("{} x{}", name, parameters.lanes);
}

StepChoice ChooseForStep(const Counts& counts, DataType type, const RankPlacement* placement) {
  StepChoice choice;
  choice.parameters.placement = placement;
  std::uint64_t elements = 0;
  for (const std::uint64_t count : counts.counts) elements += count;
  const std::uint64_t bytes = elements * ElementBytes(type);
  const bool is_large = bytes >= kLatencyBound;
  if (is_large && HasSeveralRanksANode(placement)) {
    choice.row = FindAlgorithm(counts.collective, kHierarchical);
    if (choice.row != nullptr && WhyNotHierarchical(counts.collective, choice.parameters).empty()) {
      choice.parameters.levels =
          UsualLevels(counts.collective, Protocol::kSimple, placement).front();
      return choice;
    }
  }
  choice.row = FindAlgorithm(counts.collective, FlatName(counts.collective, bytes));
  if (choice.row == nullptr) {
    throw std::invalid_argument(fmt::format("a step has no {}", hockney::Name(counts.collective)));
  }
  return choice;
}

RankPlacement PlacementOfMembers(const RankPlacement& world,
                                 std::span<const std::int64_t> members) {
  // Numbers in the order of their first use leave none out.
  std::map<int, int> nodes;
  std::map<int, int> racks;
  RankPlacement placement;
  for (const std::int64_t member : members) {
    const int old = world.node_of_rank.at(member);
    const auto [node, is_new] = nodes.try_emplace(old, static_cast<int>(nodes.size()));
    placement.node_of_rank.push_back(node->second);
    if (!is_new || world.rack_of_node.empty()) continue;
    const auto rack =
        racks.try_emplace(world.rack_of_node.at(old), static_cast<int>(racks.size())).first;
    placement.rack_of_node.push_back(rack->second);
  }
  return placement;
}

bool IsOneNode(const RankPlacement& placement) {
  return std::all_of(placement.node_of_rank.begin(), placement.node_of_rank.end(),
                     [](int node) { return node == 0; });
}

}  // namespace hockney
