#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/layout.h"
#include "collectives/program.h"
#include "tuner/simulate/ports.h"

namespace hockney {

// A lane as the simulator runs it: the steps that it has, without the room for more, and the ports
// of operands whose peer never changes.
struct LaneCode {
  std::vector<Step> steps = {};
  std::vector<Loop> loops = {};
  std::int16_t step_count = 0;
  std::int16_t loop_count = 0;
  std::int16_t group = -1;
  struct StepPorts {
    std::array<std::int32_t, kMaxOperands> source{};  // index of the port; -1: look it up
    std::array<std::int32_t, kMaxOperands> destination{};
  };
  std::vector<StepPorts> ports = {};
};

// What one rank does.
struct RankCode {
  int rank = 0;
  std::vector<LaneCode> lanes = {};
  std::vector<std::vector<std::int16_t>> groups = {};
  std::vector<LanePorts> ports = {};  // by lane
  std::uint64_t structure = 0;        // hash of all but peers and chunk numbers

  RankGroup GroupOfLane(int lane, int ranks) const {
    const int group = lanes[lane].group;
    if (group < 0) return {nullptr, ranks};
    return {groups[group].data(), static_cast<int>(groups[group].size())};
  }
};

RankCode MakeRankCode(RankProgram program);

}  // namespace hockney
