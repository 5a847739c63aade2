#include "collectives/algorithms/embedding.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "collectives/builder.h"
#include "collectives/interpreter.h"

namespace hockney {
namespace {

// Whether the buffer holds only the rank's own unit.
bool HoldsOwnUnit(Collective collective, Buffer buffer) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return buffer == Buffer::kOutput;
    case Collective::kAllGather:
    case Collective::kGather:
      return buffer == Buffer::kInput;
    default:
      return false;
  }
}

// Whether units are blocks, which lie `pieces` chunks apart, and not the parts of a piece.
bool CountsBlocks(Collective collective) {
  return HoldsOwnUnit(collective, Buffer::kInput) || HoldsOwnUnit(collective, Buffer::kOutput) ||
         collective == Collective::kAllToAll;
}

// The lanes of one phase on their way into the outer program, without the order between phases.
struct PhaseLanes {
  const Phase* phase = nullptr;
  int first = 0;                 // lane of the outer program
  std::vector<int> starts = {};  // that have to wait for the phase before
  std::vector<int> ends = {};    // that the next phase has to wait for
};

class Translator {
 public:
  Translator(const Phase& phase, int pieces, int first_lane)
      : phase_(phase), pieces_(pieces), first_lane_(first_lane) {}

  // The steps of one piece, with the loops inside it.
  Lane Translate(const Lane& inner) const;

 private:
  const Window& WindowOf(Buffer buffer) const {
    if (buffer == Buffer::kInput) return phase_.input;
    return buffer == Buffer::kOutput ? phase_.output : phase_.scratch;
  }
  void MapRun(Operand& operand) const;
  void MapEvents(Event* events, std::uint8_t& count) const;
  void DropCopiesOntoThemselves(Step& step) const;

  const Phase& phase_;
  int pieces_;
  int first_lane_;
};

void Translator::MapRun(Operand& operand) const {
  ChunkRun& run = operand.run;
  const int count = run.count * phase_.fine;
  if (count > std::numeric_limits<std::int16_t>::max()) {
    throw std::invalid_argument("program: a message of " + std::to_string(count) + " chunks");
  }
  run.count = static_cast<std::int16_t>(count);
  if (IsFifo(operand)) return;
  const Collective collective = phase_.program.shape.collective;
  const Window& window = WindowOf(operand.buffer);
  int unit = 0;
  if (HoldsOwnUnit(collective, operand.buffer)) {
    unit = phase_.program.rank;
  } else if (!CountsBlocks(collective)) {
    unit = run.base / pieces_;  // of the first part of this layout lane
  }
  run.base = window.first + unit * window.unit;
  run.outer = window.next_piece;
  run.scale = window.unit > 0 ? window.unit : 1;  // there is one unit only
  run.fine = static_cast<std::int16_t>(phase_.fine);
  run.fine_stride = window.distance;
  operand.buffer = window.buffer;
}

void Translator::MapEvents(Event* events, std::uint8_t& count) const {
  // Peer shapes meet once for all phases (see AddMeeting).
  if (phase_.peer_memory) {
    Event* const end = std::remove_if(events, events + count,
                                      [](const Event& e) { return e.kind != EventKind::kLane; });
    count = static_cast<std::uint8_t>(end - events);
  }
  for (int i = 0; i < count; ++i) {
    if (events[i].kind == EventKind::kLane)
      events[i] = OtherLane(first_lane_ + events[i].peer.start);
  }
}

// Whether two runs are the same chunks in the same order, whatever the loops around them.
bool SameChunks(const ChunkRun& a, const ChunkRun& b) {
  for (const ChunkRun* run : {&a, &b}) {
    if (run->inner != 0 || run->inner2 != 0) return false;
  }
  if (a.count != b.count || a.outer != b.outer) return false;
  for (int j = 0; j < a.count; ++j) {
    if (FindChunk(a, {}, j) != FindChunk(b, {}, j)) return false;
  }
  return true;
}

void Translator::DropCopiesOntoThemselves(Step& step) const {
  if (step.reduce || step.source_count != 1 || step.source[0].place != Place::kSelf) return;
  const Operand& from = step.source[0];
  const int before = step.destination_count;
  Operand* const end =
      std::remove_if(step.destination, step.destination + before, [&](const Operand& to) {
        return to.place == Place::kSelf && to.buffer == from.buffer && SameChunks(to.run, from.run);
      });
  step.destination_count = static_cast<std::uint8_t>(end - step.destination);
  if (before > 0 && step.destination_count == 0) step.source_count = 0;
}

Lane Translator::Translate(const Lane& inner) const {
  Lane lane;
  std::int16_t new_index[kMaxSteps + 1];
  for (int s = 0; s < inner.step_count; ++s) {
    new_index[s] = lane.step_count;
    Step step = inner.steps[s];
    MapEvents(step.wait, step.wait_count);
    MapEvents(step.post, step.post_count);
    std::for_each(step.source, step.source + step.source_count, [&](Operand& o) { MapRun(o); });
    std::for_each(step.destination, step.destination + step.destination_count,
                  [&](Operand& o) { MapRun(o); });
    step.final = step.final && phase_.completes;
    DropCopiesOntoThemselves(step);
    if (step.source_count + step.wait_count + step.post_count > 0) {
      lane.steps[lane.step_count++] = step;
    }
  }
  new_index[inner.step_count] = lane.step_count;
  for (int l = 0; l < inner.loop_count; ++l) {
    Loop loop = inner.loops[l];
    loop.begin = new_index[loop.begin];
    loop.end = new_index[loop.end];
    if (loop.depth > 0 && loop.begin < loop.end) lane.loops[lane.loop_count++] = loop;
  }
  return lane;
}

// Whether the lane has an operand in this rank's buffer of that kind (an inner program's buffer).
bool Touches(const Lane& lane, Buffer buffer) {
  const auto is_it = [&](const Operand& o) { return !IsFifo(o) && o.buffer == buffer; };
  return std::any_of(lane.steps, lane.steps + lane.step_count, [&](const Step& step) {
    return std::any_of(step.source, step.source + step.source_count, is_it) ||
           std::any_of(step.destination, step.destination + step.destination_count, is_it);
  });
}

// The lane goes on in another one, which ends after it.
bool TellsAnotherLane(const Lane& lane) {
  return std::any_of(lane.steps, lane.steps + lane.step_count, [](const Step& step) {
    return std::any_of(step.post, step.post + step.post_count,
                       [](const Event& event) { return event.kind == EventKind::kLane; });
  });
}

// The lanes with steps left whose inner lane `test` is true for; all with steps left, if none is.
template <class Test>
std::vector<int> FindLanes(const RankProgram& outer, const PhaseLanes& lanes, Test test) {
  std::vector<int> found;
  std::vector<int> all;
  for (std::size_t i = 0; i < lanes.phase->program.lanes.size(); ++i) {
    const int lane = lanes.first + static_cast<int>(i);
    if (outer.lanes[lane].step_count == 0) continue;
    all.push_back(lane);
    if (test(lanes.phase->program.lanes[i])) found.push_back(lane);
  }
  return found.empty() ? all : found;
}

std::vector<int> FindStarts(const RankProgram& outer, const PhaseLanes& lanes) {
  return FindLanes(outer, lanes, [](const Lane& inner) { return Touches(inner, Buffer::kInput); });
}

std::vector<int> FindEnds(const RankProgram& outer, const PhaseLanes& lanes) {
  return FindLanes(outer, lanes, [](const Lane& inner) {
    return Touches(inner, Buffer::kOutput) && !TellsAnotherLane(inner);
  });
}

void InsertSteps(Lane& lane, const std::vector<Step>& steps, int at) {
  const auto count = static_cast<std::int16_t>(steps.size());
  if (lane.step_count + count > kMaxSteps) {
    throw std::invalid_argument("program: more than " + std::to_string(kMaxSteps) +
                                " steps in a lane");
  }
  std::copy_backward(lane.steps + at, lane.steps + lane.step_count,
                     lane.steps + lane.step_count + count);
  std::copy(steps.begin(), steps.end(), lane.steps + at);
  lane.step_count = static_cast<std::int16_t>(lane.step_count + count);
  for (int l = 0; l < lane.loop_count; ++l) {
    Loop& loop = lane.loops[l];
    if (loop.begin >= at) loop.begin = static_cast<std::int16_t>(loop.begin + count);
    if (loop.end > at) loop.end = static_cast<std::int16_t>(loop.end + count);
  }
}

// Steps that do nothing but take, or give, one token of each of the lanes.
template <class Add>
std::vector<Step> TokenSteps(const std::vector<int>& lanes, Add add) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (i % kMaxEvents == 0) steps.emplace_back();
    steps.back() = add(OtherLane(lanes[i]), steps.back());
  }
  return steps;
}

// All ranks of the group are in the call before anyone goes on. A step takes its waits before it
// gives its posts, so this is two steps.
std::vector<Step> MeetingSteps() { return {Post(AllPeers()), Wait(AllPeers())}; }

void RepeatPieces(Lane& lane, int pieces) {
  if (pieces == 1 || lane.step_count == 0) return;
  if (lane.loop_count == kMaxLoops) {
    throw std::invalid_argument("program: more than " + std::to_string(kMaxLoops) +
                                " loops in a lane");
  }
  lane.loops[lane.loop_count++] = {.begin = 0, .end = lane.step_count, .depth = 0, .count = pieces};
}

// Lanes `to` start a piece when lanes `from` are done with it.
void Link(RankProgram& program, const std::vector<int>& from, const std::vector<int>& to) {
  for (const int lane : to) {
    const auto take = [](Event event, const Step& step) { return Wait(event, step); };
    InsertSteps(program.lanes[lane], TokenSteps(from, take), 0);
  }
  for (const int lane : from) {
    Lane& giver = program.lanes[lane];
    const auto give = [](Event event, const Step& step) { return Post(event, step); };
    InsertSteps(giver, TokenSteps(to, give), giver.step_count);
  }
}

// Between the first meeting and the last a rank may touch the memory of its group's ranks. `lanes`
// are those of the peer shapes, one a phase.
void AddMeetings(RankProgram& program, const std::vector<int>& lanes) {
  if (lanes.empty()) return;
  InsertSteps(program.lanes[lanes.front()], MeetingSteps(), 0);
  Lane& last = program.lanes[lanes.back()];
  InsertSteps(last, MeetingSteps(), last.step_count);
}

std::int16_t FindGroup(RankProgram& program, const std::vector<std::int16_t>& members) {
  auto& groups = program.groups;
  const auto found = std::find(groups.begin(), groups.end(), members);
  const auto index = static_cast<std::int16_t>(found - groups.begin());
  if (found == groups.end()) groups.push_back(members);
  return index;
}

}  // namespace

int CountUnits(const RankProgram& inner, int pieces) {
  return inner.cut.lanes * inner.cut.chunks / pieces;
}

void AddPhases(RankProgram& program, const std::vector<Phase>& phases, int pieces) {
  std::vector<PhaseLanes> present;
  std::vector<int> meeting;
  std::size_t lane_count = program.lanes.size();
  for (const Phase& phase : phases) lane_count += phase.program.lanes.size();
  program.lanes.reserve(lane_count);  // lanes are large
  for (const Phase& phase : phases) {
    PhaseLanes lanes{.phase = &phase, .first = static_cast<int>(program.lanes.size())};
    const std::int16_t group = phase.group.empty() ? -1 : FindGroup(program, phase.group);
    const Translator translator(phase, pieces, lanes.first);
    for (const Lane& inner : phase.program.lanes) {
      program.lanes.push_back(phase.group.empty() ? Lane{} : translator.Translate(inner));
      program.lanes.back().group = group;
    }
    lanes.starts = FindStarts(program, lanes);
    lanes.ends = FindEnds(program, lanes);
    for (std::size_t i = lanes.first; i < program.lanes.size(); ++i) {
      program.uses_scratch = program.uses_scratch || Touches(program.lanes[i], Buffer::kScratch);
    }
    if (phase.peer_memory && phase.group.size() > 1) {
      meeting.push_back(lanes.first);
      // Who has nothing to do himself says so when his phases before are done.
      if (lanes.starts.empty()) lanes.starts = lanes.ends = {lanes.first};
    }
    if (!lanes.starts.empty()) present.push_back(std::move(lanes));
  }
  for (std::size_t k = 1; k < present.size(); ++k) {
    Link(program, present[k - 1].ends, present[k].starts);
  }
  for (const PhaseLanes& lanes : present) {
    for (std::size_t i = 0; i < lanes.phase->program.lanes.size(); ++i) {
      RepeatPieces(program.lanes[lanes.first + i], pieces);
    }
  }
  AddMeetings(program, meeting);
}

}  // namespace hockney
