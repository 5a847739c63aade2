#include "tuner/simulate/machine_of_model.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace hockney {
namespace {

constexpr double kLeastBurst = 4096;    // bytes: less is the scatter of the fit
constexpr double kClearlySlower = 1.5;  // beta behind a bucket over beta before it
// Of the last segment's beta. While a message comes back the bucket of the way there fills up, so
// messages that go to and fro half drain it: around the bucket's size they seem to have twice the
// rate.
constexpr double kHalfDrained = 0.4;
constexpr double kDuplexMatters = 1.1;    // time of both directions over that of one
constexpr double kSharedBySeveral = 1.3;  // rate of all pairs over that of one, from which on pairs
                                          // do not share one link

const LevelModel* FindLevel(const Model& model, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const LevelModel& level : model.levels) {
      if (level.level == name) return &level;
    }
  }
  return nullptr;
}

const LevelModel& Need(const LevelModel* level, const char* what) {
  if (level != nullptr) return *level;
  throw std::invalid_argument("the model has no links " + std::string(what) +
                              ": expected a fit of hockney links on such ranks");
}

LevelCost CostOf(const LevelModel& level, const LinkShape& shape, bool by_lane) {
  const double overhead = std::min(shape.alpha_seconds, level.overhead_us.value_or(0) / 1e6);
  LevelCost cost{.name = level.level,
                 .alpha_seconds = shape.alpha_seconds - overhead,
                 .overhead_seconds = overhead,
                 .bytes_per_second = shape.connection_bytes_per_second,
                 .by_lane = by_lane};
  cost.ll_alpha_seconds = cost.alpha_seconds;
  cost.ll_bytes_per_second = cost.bytes_per_second;
  return cost;
}

// The rate of what all pairs share: a node's card, a rack's uplink.
Resource SharedOf(const LevelModel& level, const LinkShape& shape) {
  double rate = shape.bytes_per_second;
  // Where one pair emptied a shaper's bucket it had the whole link; several pairs may have had
  // several links.
  const bool whole = shape.burst_bytes > 0;
  if (!whole && level.saturation && level.saturation->all_GBps > kSharedBySeveral * rate / 1e9) {
    rate = level.saturation->all_GBps * 1e9;
  }
  return {.bytes_per_second = rate, .burst_bytes = shape.burst_bytes};
}

}  // namespace

LinkShape ShapeOfLink(const PiecewiseLine& line) {
  const std::vector<Segment>& segments = line.segments();
  const Segment& last = segments.back();
  LinkShape shape{.alpha_seconds = segments.front().alpha_seconds,
                  .connection_bytes_per_second = 1 / last.beta_seconds_per_byte,
                  .bytes_per_second = 1 / last.beta_seconds_per_byte};
  if (segments.size() < 2) return shape;
  std::size_t number = segments.size() - 2;
  while (number > 0 &&
         segments[number].beta_seconds_per_byte > kHalfDrained * last.beta_seconds_per_byte)
    --number;
  const Segment& before = segments[number];
  const double slower = last.beta_seconds_per_byte / before.beta_seconds_per_byte;
  if (slower < kClearlySlower) return shape;
  // Both lines meet where the bucket is empty; on the way there it was filled at the rate.
  const double meet = (before.alpha_seconds - last.alpha_seconds) /
                      (last.beta_seconds_per_byte - before.beta_seconds_per_byte);
  const double burst = meet * (1 - 1 / slower);
  if (burst < kLeastBurst) return shape;
  shape.burst_bytes = burst;
  shape.connection_bytes_per_second = 1 / before.beta_seconds_per_byte;
  return shape;
}

SimMachine MachineOfModel(const Model& model, RankPlacement placement) {
  SimMachine machine;
  machine.placement = std::move(placement);
  const int node_count = NodeCount(machine.placement);
  if (node_count < static_cast<int>(machine.placement.node_of_rank.size())) {
    const LevelModel& inside = Need(
        FindLevel(model, {"node", "numa", "cache", "nvlink", "socket", "gpu"}), "within a node");
    const LinkShape shape = ShapeOfLink(inside.fit.line);
    machine.node = CostOf(inside, shape, true);
    // Half of a message's time is its sender's copy into slots, half its receiver's out of them.
    machine.copy_seconds_per_byte = 1 / shape.connection_bytes_per_second;
  }
  if (node_count < 2) return machine;
  const LevelModel& between = Need(FindLevel(model, {"rack", "fabric", "pod"}), "between nodes");
  const LinkShape card = ShapeOfLink(between.fit.line);
  machine.rack = CostOf(between, card, false);
  machine.node_transmit = SharedOf(between, card);
  machine.node_receive = machine.node_transmit;
  if (between.duplex_ratio.value_or(1) > kDuplexMatters) {
    machine.node_duplex_bytes_per_second = 2 * card.bytes_per_second / *between.duplex_ratio;
  }
  machine.fabric = machine.rack;
  if (!SpansRacks(machine.placement)) return machine;
  const LevelModel& across = Need(FindLevel(model, {"fabric", "pod"}), "between racks");
  const LinkShape uplink = ShapeOfLink(across.fit.line);
  machine.fabric = CostOf(across, uplink, false);
  machine.rack_up = SharedOf(across, uplink);
  machine.rack_down = machine.rack_up;
  return machine;
}

}  // namespace hockney
