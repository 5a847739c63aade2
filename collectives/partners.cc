#include "collectives/partners.h"

#include <algorithm>

#include "collectives/interpreter.h"

namespace hockney {
namespace {

class Partners {
 public:
  Partners(const RankProgram& program, bool memory_only)
      : program_(program),
        memory_only_(memory_only),
        seen_(static_cast<std::size_t>(program.shape.ranks)) {}

  std::vector<int> Find() {
    for (std::size_t lane = 0; lane < program_.lanes.size(); ++lane) {
      group_ = GroupOf(program_, static_cast<int>(lane));
      const Lane& steps = program_.lanes[lane];
      for (int s = 0; s < steps.step_count; ++s) AddStep(steps, s);
    }
    seen_[program_.rank] = false;
    std::vector<int> found;
    for (int rank = 0; rank < program_.shape.ranks; ++rank) {
      if (seen_[rank]) found.push_back(rank);
    }
    return found;
  }

 private:
  void AddStep(const Lane& lane, int s) {
    const Step& step = lane.steps[s];
    int counts[kLoopDepth] = {1, 1, 1};
    for (int l = 0; l < lane.loop_count; ++l) {
      const Loop& loop = lane.loops[l];
      if (loop.begin <= s && s < loop.end) counts[loop.depth] = loop.count;
    }
    const auto add_event = [&](const Event& event) {
      if (event.kind == EventKind::kAllPeers) AddAll();
      if (event.kind == EventKind::kPeer) Add(event.peer, counts[1], counts[2]);
    };
    const auto add_operand = [&](const Operand& operand) {
      if (operand.place == Place::kSelf || (memory_only_ && IsFifo(operand))) return;
      if (operand.place == Place::kAllPeers || operand.place == Place::kAllFifos) return AddAll();
      Add(operand.peer, counts[1], counts[2]);
    };
    if (!memory_only_) {
      std::for_each(step.wait, step.wait + step.wait_count, add_event);
      std::for_each(step.post, step.post + step.post_count, add_event);
    }
    std::for_each(step.source, step.source + step.source_count, add_operand);
    std::for_each(step.destination, step.destination + step.destination_count, add_operand);
  }

  void AddAll() {
    for (int i = 0; i < group_.size; ++i) seen_[group_[i]] = true;
  }

  // Peers repeat with the group's size, so longer loops show nothing new.
  void Add(const PeerIndex& peer, int inner_count, int inner2_count) {
    LoopCounters at;
    for (at.i[1] = 0; at.i[1] < std::min(inner_count, group_.size); ++at.i[1]) {
      for (at.i[2] = 0; at.i[2] < std::min(inner2_count, group_.size); ++at.i[2]) {
        seen_[FindPeer(peer, at, group_)] = true;
        if (peer.inner2 == 0) break;
      }
      if (peer.inner == 0) break;
    }
  }

  const RankProgram& program_;
  bool memory_only_;
  RankGroup group_;  // of the lane that is looked at
  std::vector<bool> seen_;
};

}  // namespace

std::vector<int> PartnersOf(const RankProgram& program) { return Partners(program, false).Find(); }
std::vector<int> MemoryPartnersOf(const RankProgram& program) {
  return Partners(program, true).Find();
}

}  // namespace hockney
