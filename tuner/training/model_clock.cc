#include "tuner/training/model_clock.h"

#include <algorithm>

#include "tuner/simulate/simulate.h"
#include "tuner/training/step_choice.h"

namespace hockney {
namespace {

// Other groups of the family use the same links at the same time: each has its share. Ranks of a
// group are spread evenly, so as many groups meet at a node as it has ranks for each of this
// group's.
void Share(Resource& resource, double groups) {
  resource.bytes_per_second /= groups;
  resource.burst_bytes /= groups;
}

double CountOn(const RankPlacement& placement, int node) {
  return static_cast<double>(
      std::count(placement.node_of_rank.begin(), placement.node_of_rank.end(), node));
}

double CountIn(const RankPlacement& placement, int rack) {
  const auto& nodes = placement.node_of_rank;
  return static_cast<double>(std::count_if(
      nodes.begin(), nodes.end(), [&](int node) { return placement.rack_of_node[node] == rack; }));
}

double SecondsToFill(const Resource& resource) {
  return resource.burst_bytes > 0 ? resource.burst_bytes / resource.bytes_per_second : 0;
}

}  // namespace

// The ranks of the group, with their share of links that other groups use as well.
SimMachine SimulatedClock::MachineOf(const StepGroup& group) const {
  SimMachine machine = machine_;
  const RankPlacement& world = machine_.placement;
  machine.placement = PlacementOfMembers(world, group.members);
  const int first_node = world.node_of_rank[group.members.front()];
  const double groups = CountOn(world, first_node) / CountOn(machine.placement, 0);
  machine.node_memory_bytes_per_second /= groups;
  if (IsOneNode(machine.placement)) return machine;
  Share(machine.node_transmit, groups);
  Share(machine.node_receive, groups);
  machine.node_duplex_bytes_per_second /= groups;
  if (world.rack_of_node.empty()) return machine;
  const double in_racks =
      CountIn(world, world.rack_of_node[first_node]) / CountIn(machine.placement, 0);
  Share(machine.rack_up, in_racks);
  Share(machine.rack_down, in_racks);
  return machine;
}

const SimulatedClock::Times& SimulatedClock::Find(const StepNode& node, const SimMachine& machine) {
  const Key key{node.counts.collective,
                node.counts.root,
                node.counts.counts,
                node.type,
                machine.placement.node_of_rank,
                machine.placement.rack_of_node,
                machine.node_transmit.bytes_per_second,
                machine.rack_up.bytes_per_second};
  const auto [found, is_new] = times_.try_emplace(key);
  if (!is_new) return found->second;
  Times& times = found->second;
  const RankPlacement* placement = IsOneNode(machine.placement) ? nullptr : &machine.placement;
  const StepChoice choice = ChooseForStep(node.counts, node.type, placement);
  const SimRequest request{
      .row = choice.row, .counts = node.counts, .type = node.type, .parameters = choice.parameters};
  times.full = Simulation(request, machine, {.refill_seconds = kFullBuckets}).Run().seconds;
  times.refill_seconds =
      std::max(SecondsToFill(machine.node_transmit), SecondsToFill(machine.rack_up));
  times.empty = times.refill_seconds == 0
                    ? times.full
                    : Simulation(request, machine, {.refill_seconds = 0}).Run().seconds;
  return times;
}

double SimulatedClock::Seconds(const StepNode& node, const StepGroup& group, double idle_seconds) {
  const Times& times = Find(node, MachineOf(group));
  if (times.refill_seconds == 0) return times.full;
  const double filled = std::clamp(idle_seconds / times.refill_seconds, 0.0, 1.0);
  return times.empty - filled * (times.empty - times.full);
}

SimMachine WithoutLatency(SimMachine machine) {
  for (LevelCost* cost : {&machine.node, &machine.rack, &machine.fabric}) {
    cost->alpha_seconds = cost->ll_alpha_seconds = cost->overhead_seconds = 0;
  }
  return machine;
}

}  // namespace hockney
