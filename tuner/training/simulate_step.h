#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/training/step_graph.h"

namespace hockney {

// Says how long collectives take.
class CollectiveClock {
 public:
  virtual ~CollectiveClock() = default;
  // Seconds of the node among the group's ranks, all of which are there; their links have been idle
  // for `idle_seconds`.
  virtual double Seconds(const StepNode& node, const StepGroup& group, double idle_seconds) = 0;
};

struct StepSimulation {
  // One thread a rank does all communication, in the order of the graph; otherwise every stream
  // goes its own way.
  bool one_thread = true;
  bool computes = true;      // false: computing takes no time
  bool communicates = true;  // false: collectives take none
};

struct NodeTime {
  double start = 0;  // when its work begins: of a collective, when the last member has come
  double end = 0;
};

struct StepTimeline {
  std::vector<std::vector<NodeTime>> nodes;  // seconds, by graph and node
  double seconds = 0;                        // of the step: the last node's end
};

// Returns when everything happens. A node begins when what it waits for and the node before it in
// its queue are done; a collective when all members have come to it. Members of groups that have no
// graph in `graphs` do as those that have one (KindsOfRanks). Links are not shared between
// collectives of different groups, but for what `clock` knows of it. Throws std::invalid_argument
// for graphs in which ranks wait for each other forever, naming a node.
StepTimeline SimulateStep(std::span<const StepGraph> graphs, CollectiveClock& clock,
                          const StepSimulation& options = {});

// How a step's time divides. All in seconds.
struct StepShares {
  double step = 0;
  double compute = 0;        // the step without communication
  double communication = 0;  // the step without computing
  double exposed = 0;        // step - compute
  double hidden = 0;         // communication - exposed
};
StepShares SharesOfStep(std::span<const StepGraph> graphs, CollectiveClock& clock,
                        const StepSimulation& options = {});

}  // namespace hockney
