#include "tuner/simulate/wires.h"

#include <stdexcept>
#include <string>

namespace hockney {
namespace {

constexpr std::uint32_t kNoWire = 0xffffffff;

class Connector {
 public:
  Connector(const std::vector<RankCode>& codes, const RankClasses& classes, const ResourceMap& map,
            Protocol protocol)
      : codes_(codes), classes_(classes), map_(map), ll_(protocol == Protocol::kLl) {}

  Wires Take() {
    first_lane_.reserve(classes_.representative.size());
    size_of_class_.resize(classes_.representative.size());
    for (const int its_class : classes_.class_of_rank) ++size_of_class_[its_class];
    for (std::size_t c = 0; c < classes_.representative.size(); ++c) AddLanes(static_cast<int>(c));
    for (std::uint32_t lane = 0; lane < wires_.lanes.size(); ++lane) TieReceiver(lane);
    for (const LaneEnds& ends : wires_.lanes) CheckTied(ends);
    return std::move(wires_);
  }

 private:
  int Representative(int its_class) const { return classes_.representative[its_class]; }

  void AddLanes(int its_class) {
    const auto& lanes = codes_[Representative(its_class)].ports;
    first_lane_.push_back(static_cast<std::uint32_t>(wires_.lanes.size()));
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      LaneEnds& ends = wires_.lanes.emplace_back();
      ends.rank_class = its_class;
      ends.lane = static_cast<int>(l);
      ends.copies = static_cast<float>(size_of_class_[its_class]);
      ends.wire.assign(lanes[l].ports().size(), kNoWire);
      ends.lane_token.reserve(lanes.size());
      for (std::size_t to = 0; to < lanes.size(); ++to) {
        ends.lane_token.push_back(static_cast<std::uint32_t>(wires_.tokens.size()));
        wires_.tokens.push_back({.receiver = first_lane_.back() + static_cast<std::uint32_t>(to)});
      }
    }
  }

  // Makes the wires that end at this lane and ties both ends to them.
  void TieReceiver(std::uint32_t lane) {
    LaneEnds& ends = wires_.lanes[lane];
    const int rank = Representative(ends.rank_class);
    const auto& ports = codes_[rank].ports[ends.lane].ports();
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const Port& port = ports[p];
      const bool token = port.kind == PortKind::kTokenIn;
      if (!token && port.kind != PortKind::kSlotsIn && port.kind != PortKind::kPacketsIn) continue;
      const int other_class = classes_.class_of_rank[port.peer];
      const int there = codes_[port.peer].ports[ends.lane].Find({OtherEnd(port.kind), rank});
      const std::uint32_t sender = first_lane_[other_class] + static_cast<std::uint32_t>(ends.lane);
      if (there < 0 || wires_.lanes[sender].wire[there] != kNoWire) Fail(rank, port.peer);
      std::uint32_t wire = 0;
      if (token) {
        wire = static_cast<std::uint32_t>(wires_.tokens.size());
        const LevelCost& cost = map_.CostOf(map_.LevelBetween(port.peer, rank));
        wires_.tokens.push_back({.receiver = lane, .alpha_seconds = cost.alpha_seconds});
      } else {
        wire = static_cast<std::uint32_t>(wires_.messages.size());
        wires_.messages.push_back(MakeWire(port.peer, rank));
        wires_.messages.back().sender = sender;
        wires_.messages.back().receiver = lane;
        wires_.messages.back().copies = ends.copies;
      }
      ends.wire[p] = wire;
      wires_.lanes[sender].wire[there] = wire;
    }
  }

  MessageWire MakeWire(int from, int to) const {
    MessageWire wire;
    wire.level = map_.LevelBetween(from, to);
    const LevelCost& cost = map_.CostOf(wire.level);
    wire.by_lane = cost.by_lane;
    wire.byte_factor = ll_ ? 2 : 1;  // a flag beside every word
    if (from == to) return wire;     // a rank reaches itself at once
    wire.alpha_seconds = ll_ ? cost.ll_alpha_seconds : cost.alpha_seconds;
    wire.overhead_seconds = cost.overhead_seconds;
    wire.bytes_per_second = ll_ ? cost.ll_bytes_per_second : cost.bytes_per_second;
    wire.path = map_.PathBetween(from, to);
    return wire;
  }

  [[noreturn]] static void Fail(int rank, int peer) {
    throw std::logic_error("simulation: rank " + std::to_string(rank) + " and rank " +
                           std::to_string(peer) + " do not meet");
  }

  void CheckTied(const LaneEnds& ends) const {
    const int rank = Representative(ends.rank_class);
    for (std::size_t p = 0; p < ends.wire.size(); ++p) {
      if (ends.wire[p] == kNoWire) Fail(rank, codes_[rank].ports[ends.lane].ports()[p].peer);
    }
  }

  const std::vector<RankCode>& codes_;
  const RankClasses& classes_;
  const ResourceMap& map_;
  bool ll_;
  std::vector<std::uint32_t> first_lane_;
  std::vector<int> size_of_class_;
  Wires wires_;
};

}  // namespace

Wires ConnectLanes(const std::vector<RankCode>& codes, const RankClasses& classes,
                   const ResourceMap& map, Protocol protocol) {
  return Connector(codes, classes, map, protocol).Take();
}

}  // namespace hockney
