#include "tuner/training/simulate_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace hockney {
namespace {

constexpr double kNotYet = -1;

// Members that have come to a collective.
struct Meeting {
  struct Arrival {
    std::size_t graph = 0;
    std::size_t node = 0;
    double time = 0;
  };
  std::vector<Arrival> arrivals = {};
};

class StepSimulator {
 public:
  StepSimulator(std::span<const StepGraph> graphs, CollectiveClock& clock,
                const StepSimulation& options);
  StepTimeline Run();

 private:
  // Members of a group, as far as they have graphs, and the calls of the group so far.
  struct Party {
    std::size_t present = 0;
    std::map<std::pair<std::size_t, std::size_t>, Meeting> meetings =
        {};  // by queue and number of the call
  };
  struct Rank {
    std::array<std::vector<std::size_t>, kStepStreams> queues = {};  // nodes, in order
    std::array<std::size_t, kStepStreams> heads = {};
    std::array<double, kStepStreams> free_at = {};
    std::vector<Party*> parties = {};                               // by group
    std::vector<std::array<std::size_t, kStepStreams>> calls = {};  // by group and queue
    double links_used = -std::numeric_limits<double>::infinity();
  };

  std::size_t QueueOf(const StepNode& node) const;
  double ReadyTime(std::size_t graph, std::size_t node, std::size_t queue) const;
  bool Advance(std::size_t graph, std::size_t queue);
  void Finish(std::size_t graph, std::size_t node, const NodeTime& time);
  void Hold(const StepNode& node, const StepGroup& group, const Meeting& meeting);

  std::span<const StepGraph> graphs_;
  CollectiveClock& clock_;
  const StepSimulation& options_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, Party> parties_;
  std::vector<Rank> ranks_;
  StepTimeline timeline_;
};

StepSimulator::StepSimulator(std::span<const StepGraph> graphs, CollectiveClock& clock,
                             const StepSimulation& options)
    : graphs_(graphs), clock_(clock), options_(options), ranks_(graphs.size()) {
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    Rank& rank = ranks_[g];
    for (const StepGroup& group : graphs[g].groups) {
      Party& party = parties_[{group.family, group.members}];
      ++party.present;
      rank.parties.push_back(&party);
    }
    rank.calls.resize(graphs[g].groups.size());
    const auto& nodes = graphs[g].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) rank.queues[QueueOf(nodes[i])].push_back(i);
    timeline_.nodes.emplace_back(nodes.size(), NodeTime{kNotYet, kNotYet});
  }
}

std::size_t StepSimulator::QueueOf(const StepNode& node) const {
  if (node.kind == StepKind::kCompute) return 0;
  return options_.one_thread ? 1 : static_cast<std::size_t>(node.stream);
}

double StepSimulator::ReadyTime(std::size_t graph, std::size_t node, std::size_t queue) const {
  double ready = ranks_[graph].free_at[queue];
  for (const int before : graphs_[graph].nodes[node].after) {
    const double end = timeline_.nodes[graph][before].end;
    if (end == kNotYet) return kNotYet;
    ready = std::max(ready, end);
  }
  return ready;
}

void StepSimulator::Finish(std::size_t graph, std::size_t node, const NodeTime& time) {
  timeline_.nodes[graph][node] = time;
  const std::size_t queue = QueueOf(graphs_[graph].nodes[node]);
  ranks_[graph].free_at[queue] = time.end;
  ++ranks_[graph].heads[queue];
  timeline_.seconds = std::max(timeline_.seconds, time.end);
}

void StepSimulator::Hold(const StepNode& node, const StepGroup& group, const Meeting& meeting) {
  double start = 0;
  double used = -std::numeric_limits<double>::infinity();
  for (const Meeting::Arrival& each : meeting.arrivals) {
    start = std::max(start, each.time);
    used = std::max(used, ranks_[each.graph].links_used);
  }
  const double seconds =
      options_.communicates ? clock_.Seconds(node, group, std::max(0.0, start - used)) : 0;
  for (const Meeting::Arrival& each : meeting.arrivals) {
    Finish(each.graph, each.node, {start, start + seconds});
    ranks_[each.graph].links_used = std::max(ranks_[each.graph].links_used, start + seconds);
  }
}

// Moves the first node of a queue on, if that is possible.
bool StepSimulator::Advance(std::size_t graph, std::size_t queue) {
  Rank& rank = ranks_[graph];
  if (rank.heads[queue] == rank.queues[queue].size()) return false;
  const std::size_t number = rank.queues[queue][rank.heads[queue]];
  const StepNode& node = graphs_[graph].nodes[number];
  const double ready = ReadyTime(graph, number, queue);
  if (ready == kNotYet) return false;
  if (node.kind == StepKind::kCompute) {
    Finish(graph, number, {ready, ready + (options_.computes ? node.seconds : 0)});
    return true;
  }
  Party& party = *rank.parties[node.group];
  const std::pair key(queue, rank.calls[node.group][queue]);
  Meeting& meeting = party.meetings[key];
  for (const Meeting::Arrival& each : meeting.arrivals) {
    if (each.graph == graph) return false;  // it has come and waits
  }
  meeting.arrivals.push_back({graph, number, ready});
  if (meeting.arrivals.size() < party.present) return true;
  const Meeting complete = std::move(meeting);
  party.meetings.erase(key);
  for (const Meeting::Arrival& each : complete.arrivals) {
    ++ranks_[each.graph].calls[graphs_[each.graph].nodes[each.node].group][queue];
  }
  Hold(node, graphs_[graph].groups[node.group], complete);
  return true;
}

StepTimeline StepSimulator::Run() {
  bool moves = true;
  while (moves) {
    moves = false;
    for (std::size_t graph = 0; graph < graphs_.size(); ++graph) {
      for (std::size_t queue = 0; queue < kStepStreams; ++queue) {
        while (Advance(graph, queue)) moves = true;
      }
    }
  }
  for (std::size_t graph = 0; graph < graphs_.size(); ++graph) {
    for (std::size_t node = 0; node < graphs_[graph].nodes.size(); ++node) {
      if (timeline_.nodes[graph][node].end != kNotYet) continue;
      throw std::invalid_argument(fmt::format("rank {}: {} waits for ranks that wait for it",
                                              graphs_[graph].rank,
                                              graphs_[graph].nodes[node].name));
    }
  }
  return std::move(timeline_);
}

}  // namespace

StepTimeline SimulateStep(std::span<const StepGraph> graphs, CollectiveClock& clock,
                          const StepSimulation& options) {
  return StepSimulator(graphs, clock, options).Run();
}

StepShares SharesOfStep(std::span<const StepGraph> graphs, CollectiveClock& clock,
                        const StepSimulation& options) {
  StepSimulation without = options;
  StepShares shares;
  shares.step = SimulateStep(graphs, clock, options).seconds;
  without.communicates = false;
  shares.compute = SimulateStep(graphs, clock, without).seconds;
  without = options;
  without.computes = false;
  shares.communication = SimulateStep(graphs, clock, without).seconds;
  shares.exposed = shares.step - shares.compute;
  shares.hidden = shares.communication - shares.exposed;
  return shares;
}

}  // namespace hockney
