#include "tuner/simulate/rank_code.h"

#include <utility>

#include "tuner/simulate/hash.h"

namespace hockney {
namespace {

std::int32_t FixedPort(const Operand& operand, bool source, const RankGroup& group,
                       const LanePorts& ports) {
  const bool moves = operand.peer.inner != 0 || operand.peer.inner2 != 0;
  if (operand.place != Place::kFifo || moves) return -1;
  const bool packets = operand.buffer == Buffer::kPackets;
  const PortKind in = packets ? PortKind::kPacketsIn : PortKind::kSlotsIn;
  return ports.Find({source ? in : OtherEnd(in), FindPeer(operand.peer, LoopCounters(), group)});
}

std::uint64_t HashOperand(std::uint64_t hash, const Operand& operand) {
  hash = MixHash(hash, static_cast<std::uint64_t>(operand.place) * 8 +
                           static_cast<std::uint64_t>(operand.buffer));
  return MixHash(hash, static_cast<std::uint64_t>(operand.run.count));
}

std::uint64_t HashEvent(std::uint64_t hash, const Event& event) {
  hash = MixHash(hash, static_cast<std::uint64_t>(event.kind));
  return event.kind == EventKind::kLane
             ? MixHash(hash, static_cast<std::uint64_t>(event.peer.start))
             : hash;
}

std::uint64_t HashStep(std::uint64_t hash, const Step& step) {
  hash = MixHash(hash, (step.reduce ? 1 : 0) + (step.final ? 2 : 0));
  for (int i = 0; i < step.wait_count; ++i) hash = HashEvent(MixHash(hash, 1), step.wait[i]);
  for (int i = 0; i < step.post_count; ++i) hash = HashEvent(MixHash(hash, 2), step.post[i]);
  // In which order a step adds its sources makes no difference in time.
  std::uint64_t operands = 0;
  for (int i = 0; i < step.source_count; ++i) operands += HashOperand(3, step.source[i]);
  for (int i = 0; i < step.destination_count; ++i) operands += HashOperand(4, step.destination[i]);
  return MixHash(hash, operands);
}

std::uint64_t HashLane(std::uint64_t hash, const LaneCode& lane) {
  for (const Step& step : lane.steps) hash = HashStep(MixHash(hash, 5), step);
  for (const Loop& loop : lane.loops) {
    hash = MixHash(hash, (static_cast<std::uint64_t>(loop.begin) << 40) +
                             (static_cast<std::uint64_t>(loop.end) << 24) +
                             static_cast<std::uint64_t>(loop.depth));
    hash = MixHash(hash, static_cast<std::uint64_t>(loop.count));
  }
  return hash;
}

}  // namespace

RankCode MakeRankCode(RankProgram program) {
  RankCode code{.rank = program.rank, .structure = MixHash(1, program.lanes.size())};
  code.ports.reserve(program.lanes.size());
  code.lanes.reserve(program.lanes.size());
  for (std::size_t l = 0; l < program.lanes.size(); ++l) {
    const Lane& lane = program.lanes[l];
    LaneCode& compact = code.lanes.emplace_back();
    compact.steps.assign(lane.steps, lane.steps + lane.step_count);
    compact.loops.assign(lane.loops, lane.loops + lane.loop_count);
    compact.step_count = lane.step_count;
    compact.loop_count = lane.loop_count;
    compact.group = lane.group;
    const RankGroup group = GroupOf(program, static_cast<int>(l));
    const LanePorts& ports = code.ports.emplace_back(program, static_cast<int>(l));
    code.structure =
        HashLane(MixHash(code.structure, static_cast<std::uint64_t>(group.size)), compact);
    compact.ports.reserve(compact.steps.size());
    for (const Step& step : compact.steps) {
      LaneCode::StepPorts& fixed = compact.ports.emplace_back();
      for (int i = 0; i < step.source_count; ++i) {
        fixed.source[i] = FixedPort(step.source[i], true, group, ports);
      }
      for (int i = 0; i < step.destination_count; ++i) {
        fixed.destination[i] = FixedPort(step.destination[i], false, group, ports);
      }
    }
  }
  code.groups = std::move(program.groups);
  return code;
}

}  // namespace hockney
